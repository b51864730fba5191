// What few programs call, loaded when it is first used. One module for all: each of its own would cut the core, which they share
// parts of, into more pieces, and make it larger.
export { openInterpreter } from '../code/interpreter.js';
export { getOrCreateSandbox } from './get-or-create.js';
export { previewLink } from './preview-link.js';
