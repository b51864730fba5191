import { askDaemon, DaemonProtocolError } from '@svc/daemon/dial';
import { describe, expect, it } from 'vitest';
import { dialTcp } from '../../src/shared/dial.js';
import { waitForDaemon, warmDaemon } from '../../src/shared/readiness.js';
import { hostileAnswers, startHostileDaemon } from '../../src/testing.js';

const MAX_BYTES = 1024 * 1024;

describe.each(Object.entries(hostileAnswers))('a daemon that answers with %s', (_name, answer) => {
  it('costs one call only, within its time and a bounded number of bytes', async () => {
    await using daemon = await startHostileDaemon(answer);
    let read = 0;
    const open = async (signal?: AbortSignal) => {
      const socket = await dialTcp('127.0.0.1', daemon.port, signal);
      socket.once('close', () => {
        read += socket.bytesRead;
      });
      return socket;
    };
    const signal = AbortSignal.timeout(700);
    const outcome = await askDaemon(
      open,
      { method: 'GET', path: '/logs?after=1' },
      { signal, maxBytes: MAX_BYTES },
    ).then(
      (reply) => {
        expect(reply.body.length).toBeLessThanOrEqual(MAX_BYTES);
      },
      (error: unknown) => error,
    );
    if (outcome !== undefined && !signal.aborted) {
      expect(outcome).toBeInstanceOf(DaemonProtocolError);
      expect((outcome as Error).message).toContain('GET /logs: ');
    }
    expect(read).toBeLessThan(MAX_BYTES + 4 * 1024 * 1024);
  });

  it('keeps neither the wait for readiness nor the warm-up beyond their time', async () => {
    await using daemon = await startHostileDaemon(answer);
    const dial = (signal?: AbortSignal) => dialTcp('127.0.0.1', daemon.port, signal);
    const waited = await waitForDaemon(dial, { timeoutMs: 300 }).catch((error: unknown) => error);
    expect(waited).toMatchObject({ code: 'timeout' });
    await warmDaemon(dial, 300);
  });
});
