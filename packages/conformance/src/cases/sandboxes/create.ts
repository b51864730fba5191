import { casesOf } from '../../case.js';
import { bothVersionCases } from './create/both-versions.js';
import { concurrencyCases } from './create/concurrency.js';
import { egressCases } from './create/egress.js';
import { idempotencyCases } from './create/idempotency.js';
import { optionCases } from './create/options.js';

/** Creating sandboxes, both versions. */
export const createCases = casesOf('create', [
  ...bothVersionCases,
  ...egressCases,
  ...optionCases,
  ...concurrencyCases,
  ...idempotencyCases,
]);
