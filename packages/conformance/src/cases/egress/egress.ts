import { casesOf } from '../../case.js';
import { headerCases } from './headers.js';
import { listCases } from './lists.js';
import { proxyCases } from './proxy.js';

/** Connections that leave a sandbox, and their identity. Each on a server whose only internet is a fake. */
export const egressCases = casesOf('egress', [...listCases, ...headerCases, ...proxyCases]);
