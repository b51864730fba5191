import { SvcError } from './svc-error.js';

/** The resource does not exist, or belongs to someone else (404). */
export class NotFoundError extends SvcError {
  static override readonly kind: string = 'NotFoundError';
  static override readonly code: string = 'not_found';
}

/** No sandbox has this id, or it was killed. */
export class SandboxNotFoundError extends NotFoundError {
  static override readonly kind: string = 'SandboxNotFoundError';
  static override readonly code: string = 'sandbox_not_found';
}

/** No template, tag or build has this name. */
export class TemplateNotFoundError extends NotFoundError {
  static override readonly kind: string = 'TemplateNotFoundError';
  static override readonly code: string = 'template_not_found';
}

/** The sandbox has no such file or directory. */
export class FileNotFoundError extends NotFoundError {
  static override readonly kind: string = 'FileNotFoundError';
  static override readonly code: string = 'file_not_found';
}

/** No running process has this pid or tag. */
export class ProcessNotFoundError extends NotFoundError {
  static override readonly kind: string = 'ProcessNotFoundError';
  static override readonly code: string = 'process_not_found';
}

/** The team has no such secret. */
export class SecretNotFoundError extends NotFoundError {
  static override readonly kind: string = 'SecretNotFoundError';
  static override readonly code: string = 'secret_not_found';
}

/** The team has no such volume, or the volume no such path. */
export class VolumeNotFoundError extends NotFoundError {
  static override readonly kind: string = 'VolumeNotFoundError';
  static override readonly code: string = 'volume_not_found';
}

/** The team has no such webhook. */
export class WebhookNotFoundError extends NotFoundError {
  static override readonly kind: string = 'WebhookNotFoundError';
  static override readonly code: string = 'webhook_not_found';
}
