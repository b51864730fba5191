export { json } from './testing/answers/refusal.js';
export type { Reply } from './testing/answers/reply-list.js';
export { CassetteError } from './testing/cassette/format.js';
export { type Recording, type RecordOptions, record } from './testing/cassette/record.js';
export { type Replay, type ReplayOptions, type ReplayRequest, replay } from './testing/cassette/replay.js';
export { TestClock } from './testing/clock/test-clock.js';
export type { CommandCall, SandboxControl } from './testing/commands/call.js';
export type {
  CommandMatch,
  ProgramResult,
  Script,
  ScriptedCommand,
  ScriptedOutput,
  TestProgram,
} from './testing/commands/script.js';
export type { OperationName } from './testing/contract/names.js';
export type { PortHandler } from './testing/daemon/gateway.js';
export type { AddedFault, Fault, FaultList } from './testing/faults/fault-list.js';
export type { FileTree } from './testing/files/file-tree.js';
export type { SeenCommand } from './testing/processes/process-list.js';
export type { TestSandbox } from './testing/sandboxes/test-sandbox.js';
export { type SeenRequest, TestService, type TestServiceOptions } from './testing/test-service.js';
