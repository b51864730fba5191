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
} from './answer-errors.js';
export { CommandExitError, type CommandOutcome, OutputLostError } from './command-errors.js';
export {
  CommandTimeoutError,
  ConnectionError,
  RequestTimeoutError,
  SandboxGoneError,
  type SandboxGoneReason,
  type TimeoutDetails,
  TimeoutError,
} from './connection-errors.js';
export {
  FileNotFoundError,
  NotFoundError,
  ProcessNotFoundError,
  SandboxNotFoundError,
  SecretNotFoundError,
  TemplateNotFoundError,
  VolumeNotFoundError,
  WebhookNotFoundError,
} from './not-found-errors.js';
export type { RateLimit } from './rate-limit.js';
export type { ResourceKind } from './resource.js';
export { SvcError, type SvcErrorDetails } from './svc-error.js';
