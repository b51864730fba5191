export { InvalidPathError, type PathBase, resolvePath } from './resolve-path.js';
