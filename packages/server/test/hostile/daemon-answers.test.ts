import { connect } from 'node:net';
import { Readable } from 'node:stream';
import type { Instance } from '@svc/runtime/contract';
import { type HostileAnswer, hostileAnswers, startHostileDaemon } from '@svc/runtime/testing';
import { describe, expect, it } from 'vitest';
import type { ServerContext } from '../../src/process/context.js';
import { daemonLogs, initDaemon } from '../../src/sandboxes/daemon/daemon-control.js';
import { startCommandOf } from '../../src/sandboxes/daemon/start-command.js';
import { createKeyRing } from '../../src/storage/keys/key-ring.js';
import { UsageMeter } from '../../src/teams/usage/usage-meter.js';
import { BuildMachine } from '../../src/templates/builds/shared/machine.js';

const TIMEOUT_MS = 500;

/** An instance in which somebody else has the daemon's port. */
function instanceAt(port: () => number): Instance {
  return {
    id: 'hostile',
    ended: new Promise(() => undefined),
    destroy: () => Promise.resolve(),
    dial: (_port: number, options?: { signal?: AbortSignal }) =>
      new Promise((resolve, reject) => {
        const socket = connect({ host: '127.0.0.1', port: port(), ...options });
        socket.once('connect', () => resolve(socket));
        socket.once('error', reject);
      }),
  } as unknown as Instance;
}

/** The outcome of a call: its value, or that it failed. */
const outcome = (call: Promise<unknown>) =>
  call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );

const polite: HostileAnswer = (socket) => socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n');

describe.each(Object.entries(hostileAnswers))('a daemon that answers with %s', (_name, answer) => {
  it('costs the call with its identity, the one for logs, the one for the start command', async () => {
    await using daemon = await startHostileDaemon(answer);
    const instance = instanceAt(() => daemon.port);
    await outcome(initDaemon(instance, { accessToken: 'a' }, { timeoutMs: TIMEOUT_MS }));
    const logs = await outcome(daemonLogs(instance, 0, 1000, { timeoutMs: TIMEOUT_MS }));
    if ('value' in logs) expect((logs.value as { entries: unknown[] }).entries.length).toBeLessThanOrEqual(1);
    await outcome(startCommandOf(instance, 'true', { token: 'a', signal: AbortSignal.timeout(TIMEOUT_MS) }));
  });

  it('costs the build whose instance it is', async () => {
    await using good = await startHostileDaemon(polite);
    await using daemon = await startHostileDaemon(answer);
    let port = good.port;
    const context = {
      egress: { set: async () => {} },
      ids: { hex: () => 'aa' },
      keys: createKeyRing(Buffer.alloc(32)),
      now: () => Date.now(),
      usage: new UsageMeter(() => Date.now()),
    } as unknown as ServerContext;
    const over = new AbortController();
    await using machine = await BuildMachine.boot(
      context,
      {} as never,
      { teamId: 'team' },
      over.signal,
      async () => instanceAt(() => port),
    );
    port = daemon.port;
    const calls = [
      outcome(machine.script('a step', 'true')),
      outcome(machine.upload('/tmp/a', Readable.from(['text']))),
    ];
    // A build has an hour; nothing in it may grow meanwhile, and its end must end it.
    await Promise.race([Promise.all(calls), new Promise((resolve) => setTimeout(resolve, TIMEOUT_MS))]);
    over.abort(new Error('the build took too long'));
    for (const ended of await Promise.all(calls)) expect(ended).toBeDefined();
  });
});
