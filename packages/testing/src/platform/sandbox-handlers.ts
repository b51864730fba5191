import { defaultDaemonPort } from '@svc/daemon';
import { type NetworkSettings, PolicyError, readNetwork } from '@svc/network-policy';
import type { BodyOf } from '@svc/platform';
import { Refusal } from '../answers/refusal.js';
import type { SandboxSettings, TestSandbox } from '../sandboxes/test-sandbox.js';
import type { Handlers, PlatformAnswer, PlatformRequest } from './handler.js';
import { readMetadataFilter, readReference } from './references.js';
import { pageOf } from './wire-lists.js';
import type { World } from './world.js';

export const sandboxHandlers = {
  createSandbox: ({ world, body }) => ({ status: 201, body: world.sandboxToWire(create(world, body, 15)) }),
  createSandboxV2: (request) => createOnce(request),

  listSandboxes({ world, query }) {
    const filter = readMetadataFilter(query.metadata);
    const found = [...world.sandboxes.values()].filter(
      (sandbox) => sandbox.state === 'running' && hasMetadata(sandbox, filter),
    );
    const { items } = pageOf(found, placeOf, { limit: undefined });
    return { status: 200, body: items.map((sandbox) => world.listedToWire(sandbox)) };
  },

  listSandboxesV2({ world, query }) {
    const states = query.state?.length ? query.state : ['running', 'paused'];
    const filter = readMetadataFilter(query.metadata);
    const templateId = templateFilter(world, query.template);
    const notBefore =
      query.startedAfter === undefined ? Number.NEGATIVE_INFINITY : Date.parse(query.startedAfter);
    const matching = [...world.sandboxes.values()].filter(
      (sandbox) =>
        hasMetadata(sandbox, filter) &&
        sandbox.startedMs >= notBefore &&
        (templateId === undefined || sandbox.templateId === templateId),
    );
    const { order = 'desc', limit = 100, nextToken } = query;
    const shown = matching.filter(({ state }) => (states as string[]).includes(state));
    const { items, headers } = pageOf(shown, placeOf, { order, limit, nextToken });
    const running = states.includes('running')
      ? { 'X-Total-Running': String(matching.filter(({ state }) => state === 'running').length) }
      : {};
    return {
      status: 200,
      headers: { ...headers, ...running },
      body: items.map((sandbox) => world.listedToWire(sandbox)),
    };
  },

  getSandbox: ({ world, params }) => ({
    status: 200,
    body: world.detailToWire(world.sandboxOf(params.sandboxID)),
  }),

  killSandbox({ world, params }) {
    world.sandboxOf(params.sandboxID).stop('killed');
    return { status: 204 };
  },

  pauseSandbox({ world, params, body }) {
    const sandbox = runningOne(world, params.sandboxID);
    sandbox.stop('paused');
    if (body?.memory === false) sandbox.processes.dropAll();
    return { status: 204 };
  },

  resumeSandbox({ world, params, body }) {
    const seconds = world.checkTimeout(body?.timeout ?? 15);
    const sandbox = world.sandboxOf(params.sandboxID);
    if (sandbox.state === 'running') throw conflict(sandbox, 'is running');
    world.assertRoom();
    if (body?.autoPause !== undefined) sandbox.settings = { ...sandbox.settings, autoPause: body.autoPause };
    sandbox.resume(seconds * 1000, body?.memory !== false);
    return { status: 201, body: world.sandboxToWire(sandbox) };
  },

  connectSandbox: ({ world, params, body }) => connect(world, params.sandboxID, body.timeout, undefined),
  connectSandboxV2: ({ world, params, body }) =>
    connect(world, params.sandboxID, body?.timeout ?? 300, body?.memory),

  setSandboxTimeout({ world, params, body }) {
    const seconds = world.checkTimeout(body.timeout);
    const sandbox = runningOne(world, params.sandboxID);
    if (world.clock.nowMs - sandbox.startedMs >= world.limits.maxTimeToLiveSeconds * 1000)
      throw new Refusal(400, 'Max instance length exceeded');
    sandbox.endAt(world.endFromNow(sandbox, seconds));
    return { status: 204 };
  },

  refreshSandbox({ world, params, body }) {
    if (body?.duration !== undefined) world.checkTimeout(body.duration);
    const sandbox = runningOne(world, params.sandboxID);
    const seconds = Math.max(body?.duration ?? 15, 15);
    sandbox.endAt(Math.max(sandbox.endsMs, world.endFromNow(sandbox, seconds)));
    return { status: 204 };
  },

  forkSandbox({ world, params, body }) {
    const seconds = world.checkTimeout(body?.timeout ?? 15);
    const source = runningOne(world, params.sandboxID);
    const results = Array.from({ length: body?.count ?? 1 }, () => {
      try {
        const settings = { ...source.settings, forkedFrom: source.id };
        return { sandbox: world.sandboxToWire(world.startSandbox(settings, seconds, source.files)) };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return { error: { code: error.status, message: error.message } };
      }
    });
    return { status: 201, body: results };
  },

  updateSandboxNetwork({ world, params, body }) {
    const sandbox = runningOne(world, params.sandboxID);
    const { allow_internet_access: allowInternetAccess, ...outbound } = (body ?? {}) as Record<
      string,
      unknown
    > & {
      allow_internet_access?: boolean;
    };
    const checked = checkNetwork(outbound);
    const { allowPublicTraffic, maskRequestHost, httpsPorts } = sandbox.settings.network ?? {};
    const kept = {
      ...(allowPublicTraffic === undefined ? {} : { allowPublicTraffic }),
      ...(maskRequestHost === undefined ? {} : { maskRequestHost }),
      ...(httpsPorts === undefined ? {} : { httpsPorts }),
    };
    sandbox.settings = {
      ...sandbox.settings,
      network: { ...kept, ...checked },
      allowInternetAccess: allowInternetAccess ?? null,
    };
    return { status: 204 };
  },
} satisfies Handlers;

const placeOf = ({ startedMs, id }: TestSandbox) => ({ atMs: startedMs, id });

function create(world: World, request: BodyOf<'createSandboxV2'>, defaultSeconds: number): TestSandbox {
  const { template, build } = world.resolveTemplate(request.templateID);
  const seconds = world.checkTimeout(request.timeout ?? defaultSeconds);
  if (request.autoPauseMemory === false) {
    if (request.autoPause !== true)
      throw new Refusal(400, 'autoPauseMemory: false is valid only with autoPause: true');
    if (request.autoResume?.enabled === true)
      throw new Refusal(400, 'autoPauseMemory: false does not go with autoResume.enabled: true');
  }
  const envVars = request.envVars ?? {};
  for (const name of Object.keys(envVars))
    if (name === '' || name.includes('='))
      throw new Refusal(
        400,
        `envVars: ${JSON.stringify(name.slice(0, 100))} cannot be the name of a variable`,
      );
  if (request.network?.egressProxy)
    throw new Refusal(403, 'network.egressProxy is not enabled for this team');
  const network = request.network && checkNetwork(request.network);
  const known = new Set([...world.volumes.values()].map(({ name }) => name));
  const problems = (request.volumeMounts ?? []).flatMap((mount, index, all) => {
    const problem = mountProblem(mount, all.slice(0, index), known);
    return problem === undefined ? [] : [`[${index}] ${problem}`];
  });
  if (problems.length > 0) throw new Refusal(400, `volumeMounts: ${problems.join('; ')}`);
  const settings: SandboxSettings = {
    templateId: template.id,
    alias: template.aliases[0],
    metadata: request.metadata,
    envVars: { ...build.source?.settings.envVars, ...envVars },
    autoPause: request.autoPause ?? false,
    autoPauseMemory: request.autoPauseMemory ?? true,
    autoResume: request.autoResume?.enabled ?? false,
    allowInternetAccess: request.allow_internet_access ?? null,
    network,
    volumeMounts: request.volumeMounts ?? [],
  };
  return world.startSandbox(settings, seconds, build.files);
}

type Mount = SandboxSettings['volumeMounts'][number];

function mountProblem(
  { name, path }: Mount,
  before: readonly Mount[],
  known: ReadonlySet<string>,
): string | undefined {
  if (!known.has(name)) return `volume '${name.slice(0, 128)}' not found`;
  if (path === '') return 'the path is empty';
  if (!path.startsWith('/')) return 'the path is not absolute';
  const parts = path.split('/').slice(1);
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return 'the path is not clean';
  if (['proc', 'sys', 'dev'].includes(parts[0] as string))
    return `nothing can be mounted in /${parts[0]}, which is the kernel's`;
  if (before.some((other) => other.path === path)) return `the path '${path.slice(0, 200)}' is used twice`;
  return undefined;
}

/** Creates at most once per `Idempotency-Key`, and repeats the answer to later requests with it. */
async function createOnce({
  world,
  body,
  headers,
}: PlatformRequest<'createSandboxV2'>): Promise<PlatformAnswer<'createSandboxV2'>> {
  const run = async () => ({ status: 201, body: world.sandboxToWire(create(world, body, 300)) });
  const key = headers.get('Idempotency-Key');
  if (key === null) return run();
  if (!/^[a-z0-9]{1,255}$/.test(key))
    throw new Refusal(400, 'Idempotency-Key must be 1 to 255 characters of a-z and 0-9');
  const text = canonicalJson(body);
  const earlier = world.idempotent.get(key);
  if (!earlier) {
    const answer = run();
    answer.catch(() => {});
    world.idempotent.set(key, { body: text, answer });
    return answer;
  }
  if (earlier.body !== text)
    throw new Refusal(409, 'this idempotency key was used with another request', {
      errorCode: 'idempotency_request_mismatch',
    });
  const replayed = { 'Idempotency-Replayed': 'true' };
  try {
    return { ...((await earlier.answer) as PlatformAnswer<'createSandboxV2'>), headers: replayed };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(error.status, error.message, { headers: replayed });
  }
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

function connect(
  world: World,
  sandboxId: string,
  timeoutSeconds: number,
  memory: boolean | undefined,
): PlatformAnswer<'connectSandboxV2'> {
  const seconds = world.checkTimeout(timeoutSeconds);
  const sandbox = world.sandboxOf(sandboxId);
  const paused = sandbox.state === 'paused';
  if (paused) {
    world.assertRoom();
    sandbox.resume(seconds * 1000, memory !== false);
  } else sandbox.endAt(Math.max(sandbox.endsMs, world.endFromNow(sandbox, seconds)));
  return { status: paused ? 201 : 200, body: world.sandboxToWire(sandbox) };
}

/** @throws Refusal 400, 404; 409 for a paused one */
function runningOne(world: World, sandboxId: string): TestSandbox {
  const sandbox = world.sandboxOf(sandboxId);
  if (sandbox.state === 'paused') throw conflict(sandbox, 'is paused');
  return sandbox;
}

const conflict = ({ id }: TestSandbox, what: string) => new Refusal(409, `sandbox ${id} ${what}`);

const hasMetadata = ({ metadata }: TestSandbox, filter: readonly [string, string][]) =>
  filter.every(([key, value]) => Object.hasOwn(metadata, key) && metadata[key] === value);

/** Undefined: all templates. Null: there is no such template, so nothing matches. */
function templateFilter(world: World, text: string | undefined): string | null | undefined {
  if (text === undefined) return undefined;
  if (text.includes(':')) throw new Refusal(400, 'template: a tag cannot be given here');
  return world.findTemplate(readReference(text))?.id ?? null;
}

/** Checks network settings as the service does. @returns them as it stores them @throws Refusal 400 */
function checkNetwork<N extends NetworkSettings>(network: N): N {
  try {
    return readNetwork(network, { daemonPort: defaultDaemonPort });
  } catch (error) {
    if (error instanceof PolicyError) throw new Refusal(400, `network.${error.message}`);
    throw error;
  }
}
