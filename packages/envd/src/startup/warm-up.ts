import { createServer, type RequestListener } from 'node:http';
import { collectGarbage } from '../system/garbage.js';
import { callInProcess, type InProcessCall, streamingCall, TOKEN } from './call-in-process.js';

// The first requests of a sandbox: one sets it up, the next runs a program.
const INIT: InProcessCall = {
  method: 'POST',
  path: '/init',
  body: Buffer.from(JSON.stringify({ accessToken: TOKEN, timestamp: '2000-01-01T00:00:00Z', envVars: {} })),
};
const PROGRAM = streamingCall('process.Process/Start', [{ process: { cmd: 'true' }, stdin: false }]);
/** What commands of the SDK run in. */
const LOGIN_SHELL = streamingCall(
  'process.Process/Start',
  [{ process: { cmd: '/bin/bash', args: ['-l', '-c', 'true'] }, stdin: false }],
  { Authorization: `Basic ${btoa('user:')}` },
);

export interface WarmUpOptions {
  /** What the first call needs in any case. */
  needed: readonly (() => void | Promise<void>)[];
  /** Answers the calls of the rehearsal: an app that nobody else can reach. */
  makeHandler(): RequestListener;
  /** A caller is waiting already: no rehearsal. */
  wanted(): boolean;
}

export interface WarmUp {
  /** Starts it unless it has been started, and waits for its end. Never rejects. */
  begin(): Promise<void>;
  /**
   * Also runs a login shell, whose files are then in memory: for a sandbox that waits in a pool. Others would pay more
   * for that than their first command gains. Never rejects.
   */
  complete(): Promise<void>;
}

/**
 * Does the first calls of a sandbox once, so that the real ones find everything loaded and compiled. Leaves room for
 * requests between its steps.
 *
 * Measured: the first program of a daemon that had time to rehearse takes a fifth or less of what it takes without.
 */
export function createWarmUp({ needed, makeHandler, wanted }: WarmUpOptions): WarmUp {
  const run = async (): Promise<void> => {
    for (const step of needed) {
      await nextTurn();
      await step();
    }
    await rehearse(PROGRAM);
  };
  const rehearse = async (program: InProcessCall): Promise<void> => {
    const server = createServer(makeHandler());
    for (const call of [INIT, program]) {
      await nextTurn();
      if (wanted()) return;
      await callInProcess(server, call);
    }
    await nextTurn();
    // A sandbox that waits for its user, or is copied, should not carry what the start left behind.
    if (!wanted()) collectGarbage();
  };
  let running: Promise<void> | undefined;
  let completing: Promise<void> | undefined;
  // The real calls will tell their callers what is wrong.
  const begin = () => {
    running ??= run().catch(() => {});
    return running;
  };
  return {
    begin,
    complete() {
      completing ??= begin()
        .then(() => rehearse(LOGIN_SHELL))
        .catch(() => {});
      return completing;
    },
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
