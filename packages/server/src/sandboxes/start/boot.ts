import { DriverError, type Instance } from '@svc/runtime/contract';
import { anyOf } from '#support/any-of';
import type { ServiceMetrics, StartSource } from '../../api/context/service-metrics.js';
import { inSpan } from '../../api/context/tracer.js';
import { ApiError } from '../../api/errors/api-error.js';
import type { SandboxSecrets } from '../../storage/json-shapes.js';
import { decryptJson, encryptJson } from '../../storage/keys/encrypted-setting.js';
import type { Uses } from '../context.js';
import { initDaemon } from '../daemon/daemon-control.js';
import { startCommandOf } from '../daemon/start-command.js';
import { configOf } from '../state/config.js';
import type { SandboxRow } from '../state/live.js';
import { daemonToken } from '../state/sandbox-tokens.js';
import { enforceEgress, isIntercepted } from './enforce-egress.js';
import { instanceSpec } from './instance-spec.js';
import { placementError } from './placement-error.js';

/** The source of a boot. */
export type BootSource =
  | { kind: 'fresh' }
  /** `tokens`: of which the daemon in the stored memory knows one. */
  | { kind: 'checkpoint'; checkpointId: string; memory: boolean; tokens: readonly string[] };

type BootPorts = Uses<
  | 'authority'
  | 'config'
  | 'db'
  | 'driver'
  | 'egress'
  | 'keys'
  | 'log'
  | 'metrics'
  | 'now'
  | 'sandboxes'
  | 'signal'
  | 'tracer'
  | 'volumes'
>;

/** Name of the source in metrics. */
export function startSource(source: BootSource): StartSource {
  if (source.kind === 'fresh') return 'fresh';
  return source.memory ? 'memory' : 'filesystem';
}

/**
 * Makes the instance of a sandbox and sends its daemon the identity. Undoes that when something fails.
 * @throws {ApiError} as the placement table has it.
 */
export async function bootInstance(
  context: BootPorts,
  row: SandboxRow,
  source: BootSource,
  signal?: AbortSignal,
): Promise<Instance> {
  const timeout = AbortSignal.timeout(context.config.placementTimeoutMs);
  const limits = anyOf([timeout, context.signal, ...(signal === undefined ? [] : [signal])]);
  const phase = <T>(name: 'driver' | 'network' | 'daemon', work: () => Promise<T>) =>
    inPhase(context.metrics, startSource(source), name, work);
  let instance: Instance | undefined;
  try {
    const spec = await instanceSpec(context, row);
    const call = { id: row.id, spec, signal: limits };
    const made = await phase('driver', () =>
      source.kind === 'fresh'
        ? context.driver.create(call)
        : context.driver.restore({ ...call, checkpointId: source.checkpointId, memory: source.memory }),
    );
    instance = made;
    await phase('network', () => enforceEgress(context, row, made));
    await phase('daemon', () =>
      inSpan(context.tracer, 'daemon.init', () => introduce(context, row, made, source, limits)),
    );
    return made;
  } catch (error) {
    await instance?.destroy().catch((failure: unknown) => {
      context.log.error(
        { err: failure, sandboxId: row.id },
        'an instance whose start failed could not be destroyed',
      );
    });
    throw placementError(error, timeout.aborted);
  }
}

async function introduce(
  context: Uses<'authority' | 'keys' | 'now'>,
  row: SandboxRow,
  instance: Instance,
  source: BootSource,
  signal: AbortSignal,
): Promise<void> {
  const config = configOf(row);
  const fromMemory = source.kind === 'checkpoint' && source.memory;
  const token = daemonToken(context.keys, row);
  await initDaemon(
    instance,
    {
      accessToken: token,
      envVars: environmentOf(context, row),
      ...(config.defaultUser === null ? {} : { defaultUser: config.defaultUser }),
      ...(config.defaultWorkdir === null ? {} : { defaultWorkdir: config.defaultWorkdir }),
      timestamp: new Date(context.now()).toISOString(),
      lifecycleID: row.execution_id,
      quiesced: false,
      ...(await trustOf(context, row, fromMemory)),
    },
    { signal, tokens: fromMemory ? source.tokens : [] },
  );
  // Programs in restored memory are running already.
  if (!fromMemory && config.startCommand !== null && config.startCommand !== '')
    await startCommandOf(instance, config.startCommand, { token, signal });
}

/**
 * Whom programs of a sandbox have to trust.
 * @param known whether its daemon may trust somebody already.
 */
export async function trustOf(
  context: Uses<'authority'>,
  row: SandboxRow,
  known: boolean,
): Promise<{ caBundle?: string }> {
  if (isIntercepted(row)) return { caBundle: (await context.authority()).certificate };
  return known ? { caBundle: '' } : {};
}

/** Variables of every process of the sandbox: the template's, the caller's, the platform's. */
export function environmentOf(context: Uses<'keys'>, row: SandboxRow): Record<string, string> {
  return {
    ...decryptSecrets(context, row).envVars,
    SVC_SANDBOX: 'true',
    SVC_SANDBOX_ID: row.id,
    SVC_TEMPLATE_ID: row.template_id,
  };
}

export function decryptSecrets(context: Uses<'keys'>, row: SandboxRow): SandboxSecrets {
  return row.encrypted_secrets === null ? {} : decryptJson(context.keys, 'sandbox', row.encrypted_secrets);
}

export function encryptSecrets(
  context: Uses<'keys'>,
  secrets: SandboxSecrets,
): SandboxRow['encrypted_secrets'] {
  return Object.keys(secrets).length === 0 ? null : encryptJson(context.keys, 'sandbox', secrets);
}

/** Times one phase of a start, and counts it when it fails. */
export async function inPhase<T>(
  metrics: ServiceMetrics | undefined,
  source: StartSource,
  phase: 'record' | 'driver' | 'network' | 'daemon' | 'publish',
  work: () => Promise<T>,
): Promise<T> {
  if (metrics === undefined) return work();
  const from = performance.now();
  try {
    const result = await work();
    metrics.startPhase(source, phase, (performance.now() - from) / 1000);
    return result;
  } catch (error) {
    metrics.startFailed(source, phase, codeOf(error));
    throw error;
  }
}

/** A word of a closed set: it is a label. */
function codeOf(error: unknown): string {
  if (DriverError.is(error)) return error.code;
  if (error instanceof ApiError) return String(error.status);
  return error instanceof Error && error.name === 'AbortError' ? 'aborted' : 'other';
}
