import { runSources } from './run-sources.js';

// Programs that the code under test starts of this repository's files run from sources, as it does itself.
process.execArgv.push(...runSources);
