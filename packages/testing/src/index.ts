export { json } from './answers/refusal.js';
export type { Reply } from './answers/reply-list.js';
export { CassetteError } from './cassette/format.js';
export { type Recording, type RecordOptions, record } from './cassette/record.js';
export { type Replay, type ReplayOptions, type ReplayRequest, replay } from './cassette/replay.js';
export { TestClock } from './clock/test-clock.js';
export type { CommandCall, SandboxControl } from './commands/call.js';
export type {
  CommandMatch,
  ProgramResult,
  Script,
  ScriptedCommand,
  ScriptedOutput,
  TestProgram,
} from './commands/script.js';
export type { OperationName } from './contract/names.js';
export type { PortHandler } from './daemon/gateway.js';
export type { AddedFault, Fault, FaultList } from './faults/fault-list.js';
export type { FileTree } from './files/file-tree.js';
export type { SeenCommand } from './processes/process-list.js';
export type { TestSandbox } from './sandboxes/test-sandbox.js';
export { type SeenRequest, TestService, type TestServiceOptions } from './test-service.js';
