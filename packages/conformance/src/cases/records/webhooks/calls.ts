import { SIGNATURE_SECRET } from '../../../requests/samples.js';
import { type Api, callOk } from '../../../wire/call.js';

export interface Webhook {
  id: string;
  url: string;
  name: string;
  enabled: boolean;
  events: string[];
}

export const body = (more: Record<string, unknown> = {}) => ({
  name: 'hook',
  url: 'https://example.invalid/hook',
  events: ['sandbox.lifecycle.created'],
  signatureSecret: SIGNATURE_SECRET,
  ...more,
});

export const make = async (api: Api, more: Record<string, unknown> = {}) =>
  await callOk<Webhook>(api, 'createWebhook', 201, { body: body(more) });
