import { baseRoots, driverNames, isolations } from '@svc/runtime';
import type { ServerOptions, Tuning } from './options.js';

/** What a value of the file must be; a table is a map of options in its turn. */
type Rule = ((value: unknown) => string | undefined) | { [option: string]: Rule };

const text: Rule = (value) => (typeof value === 'string' && value !== '' ? undefined : 'must be a text');
const yesOrNo: Rule = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false');
const texts: Rule = (value) =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')
    ? undefined
    : 'must be a list of texts';
const anyNumber: Rule = (value) =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0
    ? undefined
    : 'must be a number, 0 or more';
const whole =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (value: unknown) => {
    if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return undefined;
    const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `${least} to ${most}`;
    return `must be a whole number, ${range}`;
  };
const waits: Rule = (value) =>
  Array.isArray(value) && value.every((each) => whole(0)(each) === undefined)
    ? undefined
    : 'must be a list of milliseconds';
const oneOf =
  (...allowed: string[]) =>
  (value: unknown) =>
    allowed.includes(value as string) ? undefined : `must be one of ${allowed.join(', ')}`;
const port = whole(0, 65_535);
const bucket = { rate: anyNumber, burst: whole(1) };

const tuning = {
  placementTimeoutMs: whole(1),
  requestTimeoutMs: whole(1),
  bodyLimitBytes: whole(1),
  uploadLimitBytes: whole(1),
  archives: {
    maxEntries: whole(1),
    maxNameBytes: whole(1),
    maxNamesBytes: whole(1),
    maxDepth: whole(1),
    maxHeaderBytes: whole(1),
    maxBytes: whole(1),
    maxExpansion: whole(1),
  },
  connections: {
    api: whole(1),
    gateway: whole(1),
    operator: whole(1),
    perAddress: whole(1),
    strangerIdleMs: whole(1),
  },
  logs: { maxBytesPerSandbox: whole(0), retentionMs: whole(0) },
  metrics: { sampleMs: whole(1), retentionMs: whole(0) },
  events: { retentionMs: whole(0) },
  webhooks: { allowPrivateAddresses: yesOrNo, retryDelaysMs: waits, timeoutMs: whole(1) },
  identity: { rotateAfterMs: whole(1), overlapMs: whole(0) },
  idempotency: { retentionMs: whole(0) },
  cleanUpIntervalMs: whole(1),
  minAutoResumeSeconds: whole(0),
  maxConcurrentBuilds: whole(1),
  builds: {
    timeoutMs: whole(1),
    readyIntervalMs: whole(1),
    readyTimeoutMs: whole(1),
    startWaitMs: whole(0),
    imageDirectories: texts,
    allowPrivateRegistries: yesOrNo,
  },
} satisfies Record<keyof Tuning, Rule>;

/** Everything that a file can say: the options without those that only a program can give. */
const options: { [option: string]: Rule } = {
  dataDir: text,
  host: text,
  apiPort: port,
  sandboxPort: port,
  operatorPort: (value: unknown) =>
    value === false || port(value) === undefined ? undefined : 'must be a port, 0 to 65535, or false',
  publicApiUrl: text,
  issuer: text,
  publicSandboxUrl: text,
  nodeApiUrl: text,
  nodeSandboxUrl: text,
  domain: text,
  headerPrefixes: texts,
  driver: oneOf(...driverNames),
  ociRuntime: text,
  baseRoot: oneOf(...baseRoots),
  isolation: oneOf(...isolations),
  templateIsolation: (value: unknown) =>
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((each) => oneOf(...isolations)(each) === undefined)
      ? undefined
      : `must be ${isolations.join(' or ')} for each template`,
  trialStart: yesOrNo,
  user: text,
  runtimeSocket: text,
  storage: { kind: oneOf('sqlite', 'postgres'), url: text, file: text, schema: text, poolSize: whole(1) },
  nodeId: text,
  operatorToken: text,
  serverKey: text,
  teamLimits: {
    maxTimeToLiveSeconds: whole(1),
    maxConcurrentSandboxes: whole(0),
    maxConcurrentBuilds: whole(0),
    maxCpuCount: whole(1),
    maxMemoryMiB: whole(1),
    maxStorageMiB: whole(0),
    maxVolumeMiB: whole(1),
    maxSecrets: whole(0),
    maxWebhooks: whole(0),
  },
  rateLimits: { general: bucket, create: bucket },
  maxSandboxes: whole(1),
  maxMemoryMiB: whole(1),
  diskReserveMiB: whole(0),
  poolSize: whole(0),
  userIds: (value: unknown) => {
    const { first, count } = (value ?? {}) as Record<string, unknown>;
    return [first, count].every((each) => whole(65_536, 2_147_483_647)(each) === undefined)
      ? undefined
      : 'must be a map of first and count, whole numbers, 65536 to 2147483647';
  },
  egress: {
    dns: texts,
    allowRanges: texts,
    secretVariables: texts,
    secretDirectories: texts,
    trustedRoots: text,
  },
  base: { cpuCount: whole(1), memoryMiB: whole(1), diskMiB: whole(1) },
  logLevel: oneOf('silent', 'error', 'warn', 'info', 'debug', 'trace'),
  validateResponses: yesOrNo,
  destroySandboxesOnStop: yesOrNo,
  drainMs: whole(0),
  expiryIntervalMs: whole(0),
  tuning,
} satisfies Record<Exclude<keyof ServerOptions, 'now' | 'ids'>, Rule>;

/**
 * Finds the first thing in a configuration file that is no option or has a wrong value.
 * @returns what is wrong, naming the option and never its value; undefined when all is well
 */
export function findConfigProblem(
  given: Record<string, unknown>,
  rules: { [option: string]: Rule } = options,
  path = '',
): string | undefined {
  for (const [name, value] of Object.entries(given)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) return `${path}${name} is no option${suggestion(name, Object.keys(rules), path)}`;
    if (typeof rule === 'function') {
      const problem = rule(value);
      if (problem !== undefined) return `${path}${name} ${problem}`;
      continue;
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return `${path}${name} must be a map of ${Object.keys(rule).join(', ')}`;
    const problem = findConfigProblem(value as Record<string, unknown>, rule, `${path}${name}.`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function suggestion(name: string, known: readonly string[], path: string): string {
  const best = known
    .map((each) => ({ each, distance: distance(name.toLowerCase(), each.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)[0];
  if (best === undefined || best.distance > Math.max(2, name.length / 3))
    return ` (there are ${known.map((each) => path + each).join(', ')})`;
  return `; ${path}${best.each} is`;
}

/** How many letters must be changed, added or taken away. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1)
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
