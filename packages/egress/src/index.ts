export { connectEgress } from './control/connect.js';
export type {
  EgressAuthority,
  EgressControl,
  EgressHandlers,
  EgressQuestion,
  EgressReport,
  EgressSandbox,
} from './control/types.js';
export { egressProgram } from './location.js';
