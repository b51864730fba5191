import type { Case } from '../case.js';
import { browserCases } from './every-operation/browsers.js';
import { credentialCases } from './every-operation/credentials.js';
import { limitCases } from './every-operation/limits.js';
import { requestCases } from './every-operation/requests.js';

/** Every case, in the order in which they run. */
export const cases: readonly Case[] = [...credentialCases, ...requestCases, ...limitCases, ...browserCases];
