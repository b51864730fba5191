export { linkOwnersOf } from './links.js';
export { ownerOf, registerFilesystem } from './register.js';
