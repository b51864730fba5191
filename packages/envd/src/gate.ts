/** Holds requests while a copy of this memory is made. */
export interface Gate {
  /** Runs the work now, or when the gate opens. */
  pass(work: () => void, discard: () => void): void;
  close(): void;
  /** @param original false in a copy: what was held belongs to the daemon that was copied, and is discarded. */
  open(original: boolean): void;
}

export function createGate(): Gate {
  let held: { work: () => void; discard: () => void }[] | undefined;
  return {
    pass(work, discard) {
      if (held === undefined) work();
      else held.push({ work, discard });
    },
    close() {
      held ??= [];
    },
    open(original) {
      const waiting = held ?? [];
      held = undefined;
      for (const { work, discard } of waiting) {
        if (original) work();
        else discard();
      }
    },
  };
}
