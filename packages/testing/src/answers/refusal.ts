/** A JSON answer. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(status === 204 || body === undefined ? null : JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers },
  });
}

/** A failure of the platform API, answered with its one error record. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly errorCode: string | undefined;
  readonly headers: Record<string, string>;

  constructor(
    status: number,
    message: string,
    more: { errorCode?: string; headers?: Record<string, string> } = {},
  ) {
    super(message);
    this.status = status;
    this.errorCode = more.errorCode;
    this.headers = more.headers ?? {};
  }

  /** The record. */
  toResponse(): Response {
    const { status: code, message, errorCode } = this;
    return json(code, { code, message, ...(errorCode && { error_code: errorCode }) }, this.headers);
  }
}
