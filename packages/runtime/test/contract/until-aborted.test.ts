import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { untilAborted } from '../../src/transfer/until-aborted.js';

const PIECES = 200;

describe('a stream that is read until a signal aborts', () => {
  it('keeps none of the pieces that went by', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const seen: WeakRef<Uint8Array>[] = [];
    async function* pieces() {
      for (let count = 0; count < PIECES; count += 1) {
        const piece = new Uint8Array(1_000);
        seen.push(new WeakRef(piece));
        yield piece;
      }
    }
    const { signal } = new AbortController();
    const reading = untilAborted(pieces(), signal);
    for (let count = 0; count < PIECES; count += 1) await reading.next();
    // The referent of a WeakRef stays until the turn is over.
    await turn();
    collect();
    const kept = seen.filter((piece) => piece.deref() !== undefined).length;
    expect(kept).toBeLessThan(PIECES / 10);
    expect((await reading.next()).done).toBe(true);
  });

  it('ends with the reason while the stream gives nothing, and at once when it was aborted before', async () => {
    async function* silent(): AsyncGenerator<Uint8Array> {
      await new Promise(() => undefined);
    }
    const controller = new AbortController();
    const waiting = untilAborted(silent(), controller.signal).next();
    const reason = new Error('nobody wants it any more');
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(untilAborted(silent(), controller.signal).next()).rejects.toBe(reason);
  });

  it('ends with what the stream fails with', async () => {
    const reason = new Error('the disk is lost');
    // biome-ignore lint/correctness/useYield: it fails before the first piece.
    async function* failing(): AsyncGenerator<Uint8Array> {
      throw reason;
    }
    await expect(untilAborted(failing(), new AbortController().signal).next()).rejects.toBe(reason);
  });
});
