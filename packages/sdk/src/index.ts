export { Client } from './client.js';
export { Command } from './commands/command.js';
export { Commands } from './commands/commands.js';
export type {
  CommandEvent,
  CommandResult,
  ConnectCommandOptions,
  FollowCommandOptions,
  ProcessInfo,
  RunCommandOptions,
  StartCommandOptions,
  StdinSource,
} from './commands/options.js';
export { quote, type Shell, type ShellValue } from './commands/shell.js';
export type { ClientOptions } from './config/options.js';
export {
  type CallEvent,
  diagnosticsChannels,
  type EndEvent,
  type ResponseEvent,
  type RetryEvent,
} from './core/diagnostics.js';
export {
  AuthenticationError,
  BuildError,
  CapacityError,
  CommandExitError,
  type CommandOutcome,
  CommandTimeoutError,
  ConflictError,
  ConnectionError,
  FileNotFoundError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  ProcessNotFoundError,
  type RateLimit,
  RateLimitError,
  RequestTimeoutError,
  SandboxGoneError,
  SandboxNotFoundError,
  SecretNotFoundError,
  ServerError,
  StorageFullError,
  SvcError,
  type SvcErrorDetails,
  TemplateNotFoundError,
  type TimeoutDetails,
  TimeoutError,
  VolumeNotFoundError,
  WebhookNotFoundError,
  WebhookVerificationError,
} from './core/errors/index.js';
export type { Logger, LogLevel } from './core/logger.js';
export { type FetchPage, type Page, PageList } from './core/page.js';
export type { RequestOptions } from './core/pipeline/call-context.js';
export type { Middleware, MiddlewareCall, Next } from './core/pipeline/middleware.js';
export type { Fetch } from './core/pipeline/pipeline.js';
export type { SignalName } from './process/signals.js';
export type { ConnectPtyOptions, CreatePtyOptions, PtyResult, PtySize } from './pty/options.js';
export { Pty } from './pty/pty.js';
export { PtySession } from './pty/pty-session.js';
export type { ForkOptions, ForkResult, ForkRun } from './sandbox/fork.js';
export type { LogEntry, SandboxDetail, SandboxInfo, SandboxMetrics, SnapshotInfo } from './sandbox/info.js';
export type { FollowLogsOptions, LogQuery, SandboxLogs } from './sandbox/logs.js';
export type {
  ConnectSandboxOptions,
  CreateSandboxOptions,
  EgressOptions,
  EgressProxy,
  IamOptions,
  ListSandboxesOptions,
  NetworkOptions,
  NetworkRule,
  SandboxLifecycleOptions,
  SandboxState,
} from './sandbox/options.js';
export type { PortRequestInit } from './sandbox/ports.js';
export { Sandbox } from './sandbox/sandbox.js';
export { Sandboxes } from './sandbox/sandboxes.js';
export type { Team } from './team/team.js';
export { sdkVersion } from './version.js';
