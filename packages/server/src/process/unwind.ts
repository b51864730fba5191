/** Steps to undo, in reverse order. */
export class Unwind {
  readonly #steps: { name: string; undo: () => Promise<unknown> | unknown }[] = [];

  add(name: string, undo: () => Promise<unknown> | unknown): void {
    this.#steps.push({ name, undo });
  }

  /** Undoes everything, the last first; one failure does not keep the others from being undone. */
  async run(onError: (step: string, error: unknown) => void): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step.undo();
      } catch (error) {
        onError(step.name, error);
      }
    }
  }
}
