// `@svc/sdk/local-trees`: rules for trees of a sandbox that come to this machine. Node only.
export { foldsCase } from './runtime/node-files/folds-case.js';
export {
  isVersionControl,
  linkProblem,
  pathProblem,
  takenMode,
  versionControlNames,
} from './untrusted/tree-rules.js';
