import { casesOf } from '../../case.js';
import { entryCases } from './filesystem/entries.js';
import { watchingCases } from './filesystem/watching.js';

/** The Filesystem service, line by line. */
export const filesystemCases = casesOf('filesystem', [...entryCases, ...watchingCases]);
