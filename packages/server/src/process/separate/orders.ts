import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { ServerOptions } from '../../config/options.js';

/** Set for a server that the process of root started: the descriptor that its orders come over. */
export const ORDERS_VARIABLE = 'SVC_SERVER_ORDERS';

/** First line: who the server is. Its options were read with the rights of root. */
export interface Orders {
  options: ServerOptions;
  /** Name of the user that it runs as. */
  user: string;
  /** Options that the program that starts the server passes to itself. */
  extra?: unknown;
}

/** Second line, once the driver is open: where it is. */
export interface RuntimeReady {
  socketPath: string;
  token: string;
  why: string;
}

/** State of a server that the process of root started. */
export interface ReceivedOrders extends Orders {
  /** Settles once the driver is open. @throws {Error} when the process of root ended */
  runtime(): Promise<RuntimeReady>;
}

/** Reads the orders of the process of root; undefined for a program that another process started. */
export async function receiveOrders(): Promise<ReceivedOrders | undefined> {
  const fd = Number(process.env[ORDERS_VARIABLE]);
  delete process.env[ORDERS_VARIABLE];
  if (!Number.isInteger(fd) || fd < 3) return undefined;
  const lines = createInterface({ input: createReadStream('', { fd }) });
  const arrived = lines[Symbol.asyncIterator]();
  const next = async <T>(): Promise<T> => {
    const line = await arrived.next();
    if (line.done === true) throw new Error('the process of root ended before the server was up');
    return JSON.parse(line.value) as T;
  };
  const orders = await next<Orders>();
  return { ...orders, runtime: () => next<RuntimeReady>().finally(() => lines.close()) };
}
