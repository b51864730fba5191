import { createServer } from 'node:http';
import type { App } from '../server/app.js';
import { collectGarbage } from '../system/garbage.js';
import { callInProcess, type InProcessCall, streamingCall, TOKEN } from './call-in-process.js';

/** What a sandbox's first moments consist of. */
const FIRST_CALLS: readonly InProcessCall[] = [
  {
    method: 'POST',
    path: '/init',
    body: Buffer.from(JSON.stringify({ accessToken: TOKEN, timestamp: '2000-01-01T00:00:00Z', envVars: {} })),
  },
  streamingCall('process.Process/Start', [{ process: { cmd: 'true' }, stdin: false }]),
];

export interface WarmUpOptions {
  /** What the first call needs in any case. */
  needed: readonly (() => void | Promise<void>)[];
  /** An app that nobody else sees, for the rehearsal. */
  makeApp(): App;
  /** Somebody is waiting already: no rehearsal. */
  wanted(): boolean;
}

export interface WarmUp {
  /** Starts it unless it has been started, and waits for its end. Never rejects. */
  begin(): Promise<void>;
}

/**
 * Does the first calls of a sandbox once, so that the real ones find everything loaded and compiled. Leaves room for
 * requests between its steps.
 */
export function createWarmUp({ needed, makeApp, wanted }: WarmUpOptions): WarmUp {
  const run = async (): Promise<void> => {
    for (const step of needed) {
      await nextTurn();
      await step();
    }
    const server = createServer(makeApp().handle);
    for (const call of FIRST_CALLS) {
      await nextTurn();
      if (wanted()) return;
      await callInProcess(server, call);
    }
    await nextTurn();
    // A sandbox that waits for its user, or is copied, should not carry what the start left behind.
    if (!wanted()) collectGarbage();
  };
  let running: Promise<void> | undefined;
  return {
    begin() {
      // The real calls will tell their callers what is wrong.
      running ??= run().catch(() => {});
      return running;
    },
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
