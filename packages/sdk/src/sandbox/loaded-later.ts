// What few programs call, loaded when it is first used. One module for all that a sandbox has: they share parts.
export { openInterpreter } from '../code/interpreter.js';
export { getOrCreateSandbox } from './get-or-create.js';
export { previewLink } from './preview-link.js';
export { followLogs, readLogs } from './read-logs.js';
export { waitForPort } from './wait-for-port.js';
