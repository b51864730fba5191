import { runSources } from './child-program.js';

// Programs that the code under test starts of this repository's files run from sources, as it does itself.
// Once for all files of a worker.
if (!process.execArgv.includes(runSources[0]!)) process.execArgv.push(...runSources);
