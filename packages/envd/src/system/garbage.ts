import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Calls after which a rest is used to collect, and after which there is no more waiting for one. */
const WORTH_IT = 64;
const URGENT = 192;
/** What counts as a rest, ms. */
const REST_MS = 30;

/** Says when to collect garbage. */
export interface GarbageDuty {
  /** A call has come that leaves garbage behind. */
  note(): void;
}

/**
 * Collects garbage now, some milliseconds.
 *
 * What hangs on a system handle, as all of a program's streams do, survives V8's quick collections, and V8 sees no need
 * for a full one until the heap is many times as large as what is alive. Every sandbox would pay for that, and every
 * start of a program too: fork copies the page tables.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  collect();
}

/** Collects after many calls, at the first rest that follows. */
export function createGarbageDuty(collect: () => void = collectGarbage): GarbageDuty {
  let calls = 0;
  let rest: NodeJS.Timeout | undefined;
  const run = (): void => {
    calls = 0;
    collect();
  };
  return {
    note() {
      if (++calls < WORTH_IT) return;
      if (calls >= URGENT) {
        clearTimeout(rest);
        setImmediate(run);
        calls = 0;
      } else if (rest) rest.refresh();
      else {
        rest = setTimeout(run, REST_MS);
        rest.unref();
      }
    },
  };
}
