import { isLogLevel, type Logger, type LogLevel } from '../core/logger.js';
import { InvalidRequestError } from '../errors/answer-errors.js';
import type { Runtime } from '../runtime/contract/adapter.js';
import type { ClientOptions } from './options.js';
import { sdkVersion } from './version.js';

/** Settings with every default applied. */
export interface Config
  extends Pick<
    ClientOptions,
    'apiKey' | 'sandboxUrl' | 'domain' | 'fetch' | 'transport' | 'middleware' | 'telemetry'
  > {
  apiUrl: string;
  debug: boolean;
  headers: Record<string, string>;
  logger: Logger;
  logLevel: LogLevel;
  maxRetries: number;
  requestTimeoutMs: number;
  /** Undefined where the platform does not let it be set. */
  userAgent: string | undefined;
  runtimeKind: Runtime['kind'];
}

type Surroundings = Pick<Runtime, 'kind' | 'userAgent'> & { environment: Record<string, string | undefined> };

/** Where a server started on this machine listens. */
const localApiUrl = 'http://localhost:3000';
const localSandboxUrl = 'http://localhost:3002';

/**
 * Settings in the order: option, environment, default. Pure.
 * @throws InvalidRequestError for addresses that are no URL and numbers that make no sense.
 */
export function resolveConfig(options: ClientOptions, surroundings: Surroundings): Config {
  const variable = (name: string) => surroundings.environment[name]?.trim() || undefined;
  const debug = options.debug ?? /^(1|true)$/i.test(variable('SVC_DEBUG') ?? '');
  const givenApiUrl = options.apiUrl ?? variable('SVC_API_URL');
  const domain = options.domain ?? variable('SVC_DOMAIN') ?? domainOf(givenApiUrl);
  const remoteApiUrl = domain === undefined || debug ? localApiUrl : `https://api.${domain}`;
  const apiUrl = readUrl('apiUrl', givenApiUrl ?? remoteApiUrl);
  const givenSandboxUrl = options.sandboxUrl ?? variable('SVC_SANDBOX_URL');
  const sandboxUrl = givenSandboxUrl ?? (domain === undefined && !debug ? besides(apiUrl) : undefined);
  const level = variable('SVC_LOG')?.toLowerCase();
  return {
    apiKey: options.apiKey ?? variable('SVC_API_KEY'),
    apiUrl,
    sandboxUrl: sandboxUrl === undefined ? undefined : readUrl('sandboxUrl', sandboxUrl),
    domain,
    debug,
    fetch: options.fetch,
    transport: options.transport,
    headers: options.headers ?? {},
    logger: options.logger ?? console,
    logLevel: options.logLevel ?? (isLogLevel(level) ? level : 'warn'),
    maxRetries: readCount('maxRetries', options.maxRetries ?? 2),
    requestTimeoutMs: readCount('requestTimeoutMs', options.requestTimeoutMs ?? 60_000),
    middleware: options.middleware,
    telemetry: options.telemetry,
    userAgent: formatUserAgent(options.userAgent, surroundings.userAgent),
    runtimeKind: surroundings.kind,
  };
}

/** The domain of an address such as https://api.example.com. */
function domainOf(apiUrl: string | undefined): string | undefined {
  const url = apiUrl !== undefined && URL.canParse(apiUrl) ? new URL(apiUrl) : undefined;
  return url?.protocol === 'https:' && url.host.startsWith('api.')
    ? url.host.slice('api.'.length)
    : undefined;
}

/** Where the gateway is when only the API's address is known: the local one's port, else the same origin. */
function besides(apiUrl: string): string {
  const { hostname, port } = new URL(apiUrl);
  const local = port === '3000' && (hostname === 'localhost' || hostname === '127.0.0.1');
  return local ? localSandboxUrl : apiUrl;
}

function formatUserAgent(tag: string | undefined, runtime: string | undefined): string | undefined {
  if (runtime === undefined) return undefined;
  return [tag, `svc-sdk/${sdkVersion}`, runtime]
    .filter((part) => part !== undefined && part !== '')
    .join(' ');
}

function readUrl(option: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new InvalidRequestError(
      `${option} must be an address such as https://api.example.com, got "${text}".`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw new InvalidRequestError(`${option} must not carry a user name or password.`);
  }
  return text.replace(/\/+$/, '');
}

function readCount(option: string, value: number): number {
  if (Number.isFinite(value) && value >= 0) return value;
  throw new InvalidRequestError(`${option} must be a number of at least 0, got ${value}.`);
}
