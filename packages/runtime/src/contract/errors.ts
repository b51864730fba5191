/** Why a driver refused or failed. */
export const DRIVER_ERROR_CODES = [
  'unsupported',
  'invalid_spec',
  'invalid_archive',
  'no_capacity',
  'create_failed',
  'restore_failed',
  'undumpable',
  'storage_full',
  'busy',
  'not_found',
  'instance_gone',
  'port_closed',
  'timeout',
  /** The process that runs the driver does not answer, or refuses this one. */
  'unreachable',
  /** The driver was closed. */
  'closed',
] as const;
export type DriverErrorCode = (typeof DRIVER_ERROR_CODES)[number];

const BRAND = Symbol.for('@svc/runtime/DriverError');

/** The error that a driver throws. `message` is fit for an end user; host paths and details stand in `detail` for the operator's log. */
export class DriverError extends Error {
  override readonly name = 'DriverError';
  readonly code: DriverErrorCode;
  readonly detail: string | undefined;
  readonly [BRAND] = true;

  constructor(
    code: DriverErrorCode,
    message: string,
    options?: { cause?: unknown; detail?: string | undefined },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.detail = options?.detail;
  }

  /** Recognises a driver's error, across copies of this package. */
  static is(error: unknown): error is DriverError {
    return typeof error === 'object' && error !== null && (error as { [BRAND]?: unknown })[BRAND] === true;
  }
}

/** The error of every call to a closed driver. */
export function driverClosed(): DriverError {
  return new DriverError('closed', 'The driver is closed.');
}
