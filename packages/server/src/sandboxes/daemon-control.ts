import { askDaemon, type Instance } from '@svc/runtime';
import { type LogPage, readLogPage } from './log-page.js';

export const DAEMON_PORT = 49_983;
/** Most that an answer may be. A page of logs is the largest: 1 MiB of text, escaped. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/** What the server tells the daemon after a boot or a restore. Absent fields stay as they are. @wire POST /init */
export interface DaemonSettings {
  accessToken?: string;
  envVars?: Record<string, string>;
  defaultUser?: string;
  defaultWorkdir?: string;
  /** RFC 3339. An older one than the last is ignored. */
  timestamp?: string;
  hostname?: string;
  caBundle?: string;
  lifecycleID?: string;
}

/** The daemon answered, but not as hoped. */
export class DaemonAnswerError extends Error {
  override readonly name = 'DaemonAnswerError';
  readonly status: number;

  constructor(route: string, status: number) {
    super(`the daemon answered ${status} to ${route}`);
    this.status = status;
  }
}

export interface DaemonCallOptions {
  /** Token that the daemon knows now. */
  token?: string;
  signal?: AbortSignal;
  /** Default 10 000 ms. */
  timeoutMs?: number;
}

/** Sets token, environment and defaults. */
export async function initDaemon(
  instance: Instance,
  settings: DaemonSettings,
  options: DaemonCallOptions = {},
): Promise<void> {
  await call(instance, 'POST', '/init', JSON.stringify(settings), options);
}

/**
 * What processes printed after entry `after`.
 * @throws {DaemonAnswerError}, and {DaemonProtocolError} for an answer that no daemon gives.
 */
export async function daemonLogs(
  instance: Instance,
  after: number,
  limit: number,
  options: DaemonCallOptions = {},
): Promise<LogPage> {
  const text = await call(instance, 'GET', `/logs?after=${after}&limit=${limit}`, undefined, options);
  return readLogPage(text, { after, limit });
}

/** One request over a connection of its own. Gives the body of a 2xx answer. @throws {DaemonAnswerError}, {DaemonProtocolError} */
async function call(
  instance: Instance,
  method: string,
  path: string,
  body: string | undefined,
  options: DaemonCallOptions,
): Promise<string> {
  const limit = AbortSignal.timeout(options.timeoutMs ?? 10_000);
  const { status, body: answer } = await askDaemon(
    (signal) => instance.dial(DAEMON_PORT, { signal }),
    {
      method,
      path,
      headers: {
        ...(options.token === undefined ? {} : { 'X-Access-Token': options.token }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    },
    {
      signal: options.signal === undefined ? limit : AbortSignal.any([options.signal, limit]),
      maxBytes: MAX_ANSWER_BYTES,
    },
  );
  if (status < 200 || status >= 300) throw new DaemonAnswerError(`${method} ${path.split('?')[0]}`, status);
  return answer.toString('utf8');
}
