import { casesOf } from '../../case.js';
import { controlCases } from './process/control.js';
import { inputCases } from './process/input.js';
import { outputCases } from './process/output.js';
import { readerCases } from './process/readers.js';
import { startCases } from './process/start.js';
import { streamInputCases } from './process/stream-input.js';

/** The Process service, line by line. */
export const processCases = casesOf('process', [
  ...startCases,
  ...readerCases,
  ...inputCases,
  ...controlCases,
  ...streamInputCases,
  ...outputCases,
]);
