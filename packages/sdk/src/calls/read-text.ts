import { ServerError } from '../errors/answer-errors.js';

/** Longest answer that is taken whole, bytes. None of the service's own is near it; what answers in a sandbox may be anybody's program. */
const mostBytes = 16 * 1024 * 1024;

/**
 * The body of an answer as text, in bounds: where {@link Response.text} would take all that comes.
 * @throws {ServerError} for a longer one, which is left at once
 */
export async function readText({ body, status }: Response, operation: string): Promise<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (let left = mostBytes; reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    left -= value.byteLength;
    if (left < 0) {
      await reader.cancel().catch(() => {});
      throw new ServerError(
        `${operation}: the sandbox answered with more than ${mostBytes} bytes where it has little to say. Something else may have taken its daemon's place; make another sandbox.`,
        { operation, status },
      );
    }
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}
