import { casesOf } from '../../case.js';
import { deliveryCases } from './webhooks/deliveries.js';
import { eventCases } from './webhooks/events.js';
import { webhookRecordCases } from './webhooks/records.js';

/** Webhooks, their deliveries, and the events behind them. */
export const webhookCases = casesOf('webhooks', [...webhookRecordCases, ...deliveryCases, ...eventCases]);
