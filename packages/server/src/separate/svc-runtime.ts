#!/usr/bin/env node
// The process that has the rights of root: a driver, served to the server over a socket. It reads what to do from standard
// input, one line of JSON, and ends when that input ends: the server is gone then. Sandboxes run on.
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { DriverError, DriverLog, type SelectDriverOptions, selectDriver, serveDriver } from '@svc/runtime';

/** How long the process of a server that was killed may take to end, ms. */
const PREDECESSOR_MS = 30_000;

/** What the process that starts this one tells it. */
export interface RuntimeOrders {
  driver: Omit<SelectDriverOptions, 'log' | 'now'>;
  socketPath: string;
  token: string;
  /** Who may connect. */
  owner: { uid: number; gid: number };
}

/** What this process answers, one line of JSON. */
export type RuntimeAnswer =
  | { ready: true; why: string }
  | { ready: false; code: string | undefined; message: string; detail?: string | undefined };

const answer = (line: RuntimeAnswer) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function main(): Promise<void> {
  process.title = 'svc-runtime';
  const input = createInterface({ input: process.stdin });
  const gone = new Promise<void>((resolve) => input.once('close', resolve));
  const told = new Promise<void>((resolve) => process.once('SIGTERM', resolve));
  const [line] = await Promise.race([
    new Promise<[string]>((resolve) => input.once('line', (text) => resolve([text]))),
    gone.then((): [undefined] => [undefined]),
  ]);
  if (line === undefined) return;
  const orders = JSON.parse(line) as RuntimeOrders;
  const log = new DriverLog();
  const { driver, why } = await afterPredecessor(() => selectDriver({ ...orders.driver, log: log.write }));
  const served = await serveDriver(driver, {
    socketPath: orders.socketPath,
    token: orders.token,
    owner: orders.owner,
    log,
  });
  answer({ ready: true, why });
  await Promise.race([gone, told, served.closed]);
  await served.close();
}

/** Another process like this one may still be closing the driver: that of a server which was killed. */
async function afterPredecessor<T>(open: () => Promise<T>): Promise<T> {
  for (const since = performance.now(); ; ) {
    try {
      return await open();
    } catch (error) {
      const busy = DriverError.is(error) && error.code === 'busy';
      if (!busy || performance.now() - since > PREDECESSOR_MS) throw error;
      await sleep(100);
    }
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    answer({
      ready: false,
      code: DriverError.is(error) ? error.code : undefined,
      message: error instanceof Error ? error.message : String(error),
      detail: DriverError.is(error) ? error.detail : undefined,
    });
    process.exitCode = 1;
    process.stdin.destroy();
  },
);
