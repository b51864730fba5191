import type { IncomingMessage, ServerResponse } from 'node:http';

/** Time for a stream to end once the server stops, and time without input, ms. */
const GRACE_MS = 500;
const LOOK_MS = 20;

interface OpenRequest {
  req: IncomingMessage;
  res: ServerResponse;
  /** Streams that clients resume by themselves: `output` and `input` are streams of the daemon. */
  kind: 'request' | 'output' | 'input';
  bytesRead: number;
  /** When bytes were last seen to arrive, ms of `performance.now()`. */
  movedAt: number;
}

/** The requests that a stopping server waits for. */
export class OpenRequests {
  readonly #open = new Set<OpenRequest>();

  track(req: IncomingMessage, res: ServerResponse, kind: OpenRequest['kind'] = 'request'): void {
    const one = { req, res, kind, bytesRead: req.socket.bytesRead, movedAt: performance.now() };
    this.#open.add(one);
    res.once('close', () => this.#open.delete(one));
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Breaks off streams that would delay the stop for as long as a program runs: output that has begun, to which clients
   * attach again where it stopped, and idle input. They break off without an answer: the program continues.
   */
  breakStreams(): void {
    const now = performance.now();
    for (const one of this.#open) {
      const { bytesRead } = one.req.socket;
      if (bytesRead !== one.bytesRead) Object.assign(one, { bytesRead, movedAt: now });
      const resting =
        one.kind === 'output' ? one.res.headersSent : one.kind === 'input' && now - one.movedAt > GRACE_MS;
      if (resting) one.res.destroy();
    }
  }

  /** Waits until none is left, breaking streams off after a moment, or until `graceMs` are over. */
  async drained(graceMs: number, alsoOpen: () => number = () => 0): Promise<void> {
    const begunAt = performance.now();
    for (const one of this.#open)
      Object.assign(one, { bytesRead: one.req.socket.bytesRead, movedAt: begunAt });
    while (this.size + alsoOpen() > 0) {
      const elapsedMs = performance.now() - begunAt;
      if (elapsedMs > graceMs) return;
      if (elapsedMs > GRACE_MS) this.breakStreams();
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
}
