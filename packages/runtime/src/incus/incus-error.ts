/** A failed answer of Incus, or the reason why nothing answered. Only the driver and the cluster commands see it. */
export class IncusError extends Error {
  override readonly name = 'IncusError';
  /** HTTP status, or that of the failed operation. 0: no member answered. */
  readonly status: number;

  constructor(status: number, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.status = status;
  }

  /** Returns true for such an error, with this status if given. */
  static is(error: unknown, status?: number): error is IncusError {
    return error instanceof IncusError && (status === undefined || error.status === status);
  }
}
