#!/usr/bin/env node
// The process that has the rights of root: a driver, served to the server over a socket. Started by the server, it reads what
// to do from standard input, one line of JSON, and ends when that input ends: the server is gone then. Started by itself, with
// --alone, it reads the server's configuration, and ends when the server that used it is gone, to be started again. Sandboxes run on.
import { createInterface } from 'node:readline';
import { DriverError, DriverLog, selectDriver, serveDriver } from '@svc/runtime';
import { afterPredecessor } from './after-predecessor.js';
import type { RuntimeAnswer, RuntimeOrders } from './runtime-orders.js';

const answer = (line: RuntimeAnswer) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function main(): Promise<void> {
  process.title = 'svc-runtime';
  if (process.argv.includes('--alone')) return (await import('./run-alone.js')).runAlone(answer);
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
