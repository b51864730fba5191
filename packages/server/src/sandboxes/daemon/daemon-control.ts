import { askDaemon, type DaemonDial } from '@svc/daemon/dial';
import type { Instance } from '@svc/runtime/contract';
import { anyOf } from '#support/any-of';
import { type LogPage, readLogPage } from './log-page.js';

export const DAEMON_PORT = 49_983;
/** Most that an answer may be. A page of logs is the largest: 1 MiB of text, escaped. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/** Connects to an instance's daemon. */
export function dialDaemon(instance: Pick<Instance, 'dial'>): DaemonDial {
  return (signal) => instance.dial(DAEMON_PORT, { signal });
}

/** Settings of the daemon after a boot or a restore. Absent fields stay as they are. @wire POST /init */
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
  /**
   * True: a copy of the daemon's memory is about to be made. Requests wait until the next call without it; until then
   * the token before is taken too.
   */
  quiesced?: boolean;
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

export interface InitOptions extends Omit<DaemonCallOptions, 'token'> {
  /** Tokens of which the daemon knows one, the likeliest first. Default: none, for a daemon that has none yet. */
  tokens?: readonly string[];
}

/** Sets token, environment and defaults. @throws {DaemonAnswerError}, {DaemonProtocolError} */
export async function initDaemon(
  instance: Instance,
  settings: DaemonSettings,
  { tokens = [], ...options }: InitOptions = {},
): Promise<void> {
  const body = JSON.stringify(settings);
  const [token, ...others] = tokens;
  try {
    await call(instance, 'POST', '/init', body, { ...options, ...(token === undefined ? {} : { token }) });
  } catch (error) {
    const refused = error instanceof DaemonAnswerError && error.status === 401;
    if (!refused || others.length === 0) throw error;
    await initDaemon(instance, settings, { ...options, tokens: others });
  }
}

/**
 * Reads the output of processes after entry `after`.
 * @throws {DaemonAnswerError}, and {DaemonProtocolError} for an answer that no daemon gives.
 */
export async function daemonLogs(
  instance: Instance,
  after: number,
  limit: number,
  options: DaemonCallOptions = {},
): Promise<LogPage> {
  const answer = await call(instance, 'GET', `/logs?after=${after}&limit=${limit}`, undefined, options);
  return readLogPage(answer, { after, limit });
}

/** One request over a connection of its own. Gives the body of a 2xx answer. @throws {DaemonAnswerError}, {DaemonProtocolError} */
async function call(
  instance: Instance,
  method: string,
  path: string,
  body: string | undefined,
  options: DaemonCallOptions,
): Promise<Buffer> {
  const limit = AbortSignal.timeout(options.timeoutMs ?? 10_000);
  const { status, body: answer } = await askDaemon(
    dialDaemon(instance),
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
      signal: options.signal === undefined ? limit : anyOf([options.signal, limit]),
      maxBytes: MAX_ANSWER_BYTES,
    },
  );
  if (status < 200 || status >= 300) throw new DaemonAnswerError(`${method} ${path.split('?')[0]}`, status);
  return answer;
}
