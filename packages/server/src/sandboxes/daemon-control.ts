import http from 'node:http';
import type { Instance } from '@svc/runtime';

export const DAEMON_PORT = 49_983;

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

export interface DaemonLogEntry {
  seq: number;
  timestamp: string;
  level: string;
  message: string;
  fields: Record<string, string | number>;
}

export interface DaemonLogs {
  entries: DaemonLogEntry[];
  next: number;
  dropped: number;
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

/** Whether the daemon answers. */
export async function daemonHealth(instance: Instance, options: DaemonCallOptions = {}): Promise<boolean> {
  return call(instance, 'GET', '/health', undefined, options).then(
    () => true,
    () => false,
  );
}

/** What processes printed after entry `after`. */
export async function daemonLogs(
  instance: Instance,
  after: number,
  limit: number,
  options: DaemonCallOptions = {},
): Promise<DaemonLogs> {
  return JSON.parse(
    await call(instance, 'GET', `/logs?after=${after}&limit=${limit}`, undefined, options),
  ) as DaemonLogs;
}

/** One request over a connection of its own. Gives the body of a 2xx answer. @throws {DaemonAnswerError} */
export async function call(
  instance: Instance,
  method: string,
  path: string,
  body: string | undefined,
  options: DaemonCallOptions,
): Promise<string> {
  const limit = AbortSignal.timeout(options.timeoutMs ?? 10_000);
  const signal = options.signal === undefined ? limit : AbortSignal.any([options.signal, limit]);
  const socket = await instance.dial(DAEMON_PORT, { signal });
  try {
    return await new Promise<string>((resolve, reject) => {
      const request = http.request(
        {
          method,
          path,
          host: 'sandbox',
          createConnection: () => socket as never,
          headers: {
            ...(options.token === undefined ? {} : { 'X-Access-Token': options.token }),
            ...(body === undefined
              ? {}
              : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
          },
          signal,
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const status = response.statusCode ?? 0;
            if (status >= 200 && status < 300) resolve(Buffer.concat(chunks).toString('utf8'));
            else reject(new DaemonAnswerError(`${method} ${path.split('?')[0]}`, status));
          });
        },
      );
      request.on('error', reject);
      request.end(body);
    });
  } finally {
    socket.destroy();
  }
}
