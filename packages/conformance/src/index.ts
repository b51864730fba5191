export type { Capability } from './capability.js';
export type { Case } from './case.js';
export { cases } from './cases/index.js';
export { runCase } from './run/run-case.js';
export { startEmbedded } from './targets/embedded.js';
export type { Target } from './targets/target.js';
export { openUrlTarget } from './targets/url.js';
