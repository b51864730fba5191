import { SvcError, type SvcErrorDetails } from './svc-error.js';

/** What was asked for does not exist, or belongs to someone else (404). */
export class NotFoundError extends SvcError {
  static override readonly kind: string = 'NotFoundError';
  constructor(message: string, details: SvcErrorDetails = {}, code = 'not_found') {
    super(message, code, details);
  }
}

/** No sandbox has this id, or it was killed. */
export class SandboxNotFoundError extends NotFoundError {
  static override readonly kind: string = 'SandboxNotFoundError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, details, 'sandbox_not_found');
  }
}

/** No template, tag or build has this name. */
export class TemplateNotFoundError extends NotFoundError {
  static override readonly kind: string = 'TemplateNotFoundError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, details, 'template_not_found');
  }
}

/** The sandbox has no such file or directory. */
export class FileNotFoundError extends NotFoundError {
  static override readonly kind: string = 'FileNotFoundError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, details, 'file_not_found');
  }
}

/** No running process has this pid or tag. */
export class ProcessNotFoundError extends NotFoundError {
  static override readonly kind: string = 'ProcessNotFoundError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, details, 'process_not_found');
  }
}

/** The team has no such secret. */
export class SecretNotFoundError extends NotFoundError {
  static override readonly kind: string = 'SecretNotFoundError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, details, 'secret_not_found');
  }
}

/** The team has no such volume, or the volume no such path. */
export class VolumeNotFoundError extends NotFoundError {
  static override readonly kind: string = 'VolumeNotFoundError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, details, 'volume_not_found');
  }
}

/** The team has no such webhook. */
export class WebhookNotFoundError extends NotFoundError {
  static override readonly kind: string = 'WebhookNotFoundError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, details, 'webhook_not_found');
  }
}
