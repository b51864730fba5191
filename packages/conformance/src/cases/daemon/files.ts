import { casesOf } from '../../case.js';
import { inFrontCases } from './files/in-front.js';
import { plainRouteCases } from './files/plain-routes.js';
import { specialCases } from './files/special.js';
import { transferCases } from './files/transfers.js';

/** /files and the other plain routes of the daemon. */
export const fileCases = casesOf('files', [
  ...plainRouteCases,
  ...transferCases,
  ...specialCases,
  ...inFrontCases,
]);
