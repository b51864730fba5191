import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** How much bulk data is worth a look at the heap, bytes. */
const STEP_BYTES = 1024 * 1024;
/** Room for new objects that bulk data gets, bytes: with less, collecting costs several times the work itself. */
const ENOUGH_BYTES = 8 * 1024 * 1024;
/** After so long without bulk data the room grows no more, ms. */
const CALM_MS = 1000;

/** Lets V8's room for new objects grow while bulk data runs through the heap, and only then. */
export interface HeapRoom {
  /** So many bytes pass through the heap as text. */
  note(bytes: number): void;
}

interface Heap {
  roomBytes(): number;
  mayGrow(yes: boolean): void;
}

const v8: Heap = {
  roomBytes: () =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? Infinity,
  mayGrow: (yes) => setFlagsFromString(`--semi-space-growth-factor=${yes ? 2 : 1}`),
};

export function createHeapRoom(heap: Heap = v8): HeapRoom {
  let bytes = 0;
  let enough = false;
  let calm: NodeJS.Timeout | undefined;
  const stop = (): void => {
    clearTimeout(calm);
    calm = undefined;
    heap.mayGrow(false);
  };
  return {
    note(more) {
      bytes += more;
      if (enough || bytes < STEP_BYTES) return;
      bytes = 0;
      enough = heap.roomBytes() >= ENOUGH_BYTES;
      if (enough) stop();
      else if (calm) calm.refresh();
      else {
        heap.mayGrow(true);
        calm = setTimeout(stop, CALM_MS);
        calm.unref();
      }
    },
  };
}
