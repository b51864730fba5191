/** Calls that may be cancelled by name while they run. */
export class Cancellations {
  readonly #running = new Map<string, AbortController>();

  /**
   * Runs a task whose signal aborts when the call is cancelled or its connection is lost.
   * @param callId empty: the call cannot be cancelled.
   */
  async run<T>(
    callId: string,
    connection: AbortSignal,
    task: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    const { signal } = controller;
    const lose = () => controller.abort(connection.reason);
    if (connection.aborted) lose();
    // Not `AbortSignal.any`: the connection outlives its calls, and would remember each.
    connection.addEventListener('abort', lose, { once: true });
    if (callId !== '') this.#running.set(callId, controller);
    try {
      return await task(signal);
    } finally {
      connection.removeEventListener('abort', lose);
      if (this.#running.get(callId) === controller) this.#running.delete(callId);
    }
  }

  /** False: no such call runs. */
  cancel(callId: string): boolean {
    const controller = this.#running.get(callId);
    controller?.abort();
    return controller !== undefined;
  }
}
