export type { ApiKey, CreatedApiKey } from './api-keys/api-key.js';
export { ApiKeys } from './api-keys/api-keys.js';
export { Client } from './client/client.js';
export type { ChartValue, CodeChart } from './code/chart.js';
export { CodeContexts } from './code/code-contexts.js';
export type { CreateCodeContextOptions } from './code/context-calls.js';
export type { CodeContext, CodeError, CodeLanguage, CodeResult, Execution } from './code/execution.js';
export type { RunCodeOptions } from './code/run-code.js';
export type { Command } from './commands/command.js';
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
export { sdkVersion } from './config/version.js';
export type { RequestOptions } from './core/call-context.js';
export {
  type CallEvent,
  diagnosticsChannels,
  type EndEvent,
  type ResponseEvent,
  type RetryEvent,
} from './core/diagnostics.js';
export type { Logger, LogLevel } from './core/logger.js';
export type { Fetch, Middleware, MiddlewareCall, Next } from './core/middleware.js';
export { type FetchPage, type Page, PageList } from './core/page.js';
export type {
  OperationEvent,
  OperationObserver,
  OperationStart,
  Telemetry,
} from './core/telemetry.js';
export {
  AuthenticationError,
  BuildError,
  CapacityError,
  ConflictError,
  InvalidRequestError,
  PermissionError,
  RateLimitError,
  ServerError,
  StorageFullError,
  WebhookVerificationError,
} from './errors/answer-errors.js';
export { CommandExitError, type CommandOutcome, OutputLostError } from './errors/command-errors.js';
export {
  CommandTimeoutError,
  ConnectionError,
  RequestTimeoutError,
  SandboxGoneError,
  type SandboxGoneReason,
  type TimeoutDetails,
  TimeoutError,
} from './errors/connection-errors.js';
export {
  FileNotFoundError,
  NotFoundError,
  ProcessNotFoundError,
  SandboxNotFoundError,
  SecretNotFoundError,
  TemplateNotFoundError,
  VolumeNotFoundError,
  WebhookNotFoundError,
} from './errors/not-found-errors.js';
export type { RateLimit } from './errors/rate-limit.js';
export { SvcError, type SvcErrorDetails } from './errors/svc-error.js';
export { Events, type ListEventsOptions } from './events/events.js';
export type {
  EndedExecution,
  KillReason,
  LifecycleEvent,
  LifecycleEventType,
  SandboxCheckpointedEvent,
  SandboxCreatedEvent,
  SandboxKilledEvent,
  SandboxPausedEvent,
  SandboxResumedEvent,
  SandboxUpdatedEvent,
} from './events/lifecycle-event.js';
export type { FileContent } from './files/content.js';
export type { IgnoreRules } from './files/directory/ignore-rules.js';
export type {
  DownloadOptions,
  DownloadResult,
  SkippedEntry,
  TransferOptions,
  TransferProgress,
  TransferResult,
} from './files/directory/options.js';
export type { FileEntry, WatchEvent, WrittenFile } from './files/entry.js';
export { Files } from './files/files.js';
export type { FileOptions } from './files/options.js';
export type { ReadFormat, ReadOptions, ReadResults } from './files/read.js';
export type { SignedUrlOptions } from './files/signed-url.js';
export type { DirectoryWatch, WatchOptions } from './files/watch.js';
export type { FileToWrite, WriteOptions } from './files/write.js';
export { Git } from './git/git.js';
export { GitError, type GitFailure } from './git/git-error.js';
export type {
  ApplyOptions,
  CheckoutOptions,
  CloneOptions,
  CommitOptions,
  DiffOptions,
  GitCredential,
  GitOptions,
  LogOptions,
  PullOptions,
  PushOptions,
} from './git/options.js';
export type {
  GitBranch,
  GitChange,
  GitCommit,
  GitFileStatus,
  GitPushedRef,
  GitStatus,
} from './git/records.js';
export type { SignalName } from './process/signals.js';
export type {
  AttachPtyOptions,
  ConnectPtyOptions,
  CreatePtyOptions,
  PtyResult,
  PtySize,
} from './pty/options.js';
export { Pty } from './pty/pty.js';
export type { PtySession } from './pty/pty-session.js';
export type { ForkOptions, ForkResult, ForkRun } from './sandbox/fork.js';
export type { GetOrCreateOptions } from './sandbox/get-or-create.js';
export type {
  EgressCounts,
  EgressDestination,
  LogEntry,
  SandboxDetail,
  SandboxEgress,
  SandboxInfo,
  SandboxMetrics,
} from './sandbox/info.js';
export type { FollowLogsOptions, LogQuery } from './sandbox/log-query.js';
export type { SandboxLogs } from './sandbox/logs.js';
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
export type { PortRequestInit, PortRoute } from './sandbox/ports.js';
export type { PreviewLinkOptions } from './sandbox/preview-link.js';
export { Sandbox } from './sandbox/sandbox.js';
export { Sandboxes } from './sandbox/sandboxes.js';
export type { WaitForPortOptions } from './sandbox/wait-for-port.js';
export { iamToken, identityToken, secret } from './secrets/placeholders.js';
export type { NewSecret, Secret } from './secrets/secret.js';
export { Secrets } from './secrets/secrets.js';
export type { SnapshotInfo } from './snapshots/snapshot.js';
export { type ListSnapshotsOptions, Snapshots } from './snapshots/snapshots.js';
export type { Team } from './team/team.js';
export type { BuildOptions } from './templates/build.js';
export type { RegistryCredentials } from './templates/definition.js';
export { type DockerfileOptions, Template, type TemplateContextOptions } from './templates/template.js';
export { type TemplateAlias, TemplateAliases } from './templates/template-aliases.js';
export { type BuildLogQuery, type FollowBuildOptions, TemplateBuild } from './templates/template-build.js';
export type {
  BuildInfo,
  BuildLogEntry,
  BuildState,
  BuildStatus,
  TemplateDetail,
  TemplateInfo,
  TemplateTag,
} from './templates/template-info.js';
export { TemplateTags } from './templates/template-tags.js';
export { type PageOptions, Templates } from './templates/templates.js';
export { type CreateEntryOptions, Volume } from './volumes/volume.js';
export type { VolumeEntry, VolumeInfo, VolumeOwnership } from './volumes/volume-info.js';
export { Volumes } from './volumes/volumes.js';
export { webhooks } from './webhooks/deliveries.js';
export type { HeadersLike } from './webhooks/delivery-headers.js';
export type { SignOptions } from './webhooks/sign.js';
export type { RawBody, VerifyOptions } from './webhooks/verify.js';
export type {
  Delivery,
  DeliveryAttempt,
  DeliveryCounts,
  DeliveryQuery,
  NewWebhook,
  Webhook,
  WebhookChange,
  WebhookStats,
} from './webhooks/webhook.js';
export { Webhooks } from './webhooks/webhooks.js';
