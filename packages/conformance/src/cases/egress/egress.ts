import { casesOf } from '../../case.js';
import { headerCases } from './headers.js';
import { listCases } from './lists.js';
import { proxyCases } from './proxy.js';

/** What leaves a sandbox, and as whose. Each on a server whose only internet is a played one. */
export const egressCases = casesOf('egress', [...listCases, ...headerCases, ...proxyCases]);
