// Calls that few programs make, loaded when they are first used. One module for a whole sandbox: they share parts.
export { openInterpreter } from '../code/interpreter.js';
export { getOrCreateSandbox } from './get-or-create.js';
export { previewLink } from './preview-link.js';
export { followLogs, readLogs } from './read-logs.js';
export { waitForPort } from './wait-for-port.js';
