import { casesOf } from '../../case.js';
import { closedRouteCases } from './closed-routes.js';
import { networkSettingCases } from './network-settings.js';
import { refusalCases } from './refusals.js';
import { trafficCases } from './traffic.js';
import { wakingCases } from './waking.js';

/** The way into sandboxes. */
export const gatewayCases = casesOf('gateway', [
  ...refusalCases,
  ...closedRouteCases,
  ...trafficCases,
  ...networkSettingCases,
  ...wakingCases,
]);
