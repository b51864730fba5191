export { ownerOf, registerFilesystem } from './register.js';
