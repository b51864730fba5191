import type { Driver } from './contract/driver.js';
import { DriverError } from './contract/errors.js';
import type { Instance, InstanceSpec } from './contract/instance.js';
import { randomId } from './shared/instance-id.js';

/** The time until a sandbox answered, ms. */
export interface TrialStart {
  startedMs: number;
  /** From the moment when its memory began to be stored until the copy answered. Absent: it was not tried, or failed. */
  restoredMs?: number;
  /** Why its memory cannot be stored and restored, for the operator. */
  memoryProblem?: string;
}

/**
 * Starts a sandbox, awaits its daemon's answer, stores its memory, restores it, and ends it: only this shows
 * that it can.
 * @returns undefined: there is no room to try, which says nothing.
 * @throws {DriverError} what a create on this host gives.
 */
export async function trialStart(driver: Driver): Promise<TrialStart | undefined> {
  const spec: InstanceSpec = { layers: [], limits: {}, network: { egress: 'none' }, mounts: [], labels: {} };
  const since = performance.now();
  try {
    const instance = await driver.create({ id: randomId(), spec });
    const startedMs = Math.round(performance.now() - since);
    const memory = driver.capabilities.memorySnapshot ? await trialRestore(driver, instance, spec) : {};
    await instance.destroy();
    return { startedMs, ...memory };
  } catch (error) {
    if (outOfRoom(error)) return undefined;
    throw error;
  }
}

async function trialRestore(
  driver: Driver,
  instance: Instance,
  spec: InstanceSpec,
): Promise<Omit<TrialStart, 'startedMs'>> {
  const checkpointId = randomId();
  const since = performance.now();
  try {
    // The restore that follows is all the proof that is needed.
    await instance.checkpoint({ checkpointId, memory: true, then: 'destroy', brief: true });
    const restored = await driver.restore({ id: randomId(), checkpointId, memory: true, spec });
    const restoredMs = Math.round(performance.now() - since);
    await restored.destroy();
    return { restoredMs };
  } catch (error) {
    if (outOfRoom(error)) return {};
    return { memoryProblem: `Memory cannot be stored and restored on this host: ${reasonOf(error)}` };
  } finally {
    await driver.deleteCheckpoint(checkpointId);
  }
}

function outOfRoom(error: unknown): boolean {
  return DriverError.is(error) && ['no_capacity', 'storage_full'].includes(error.code);
}

/** The first line of CRIU's that says what went wrong: those before it are of no consequence, those after it follow from it. */
function reasonOf(error: unknown): string {
  const detail = DriverError.is(error) ? (error.detail ?? '') : '';
  const lines = detail.split('\n').filter((line) => /Error \(/.test(line) && !/RLIMIT_NOFILE/.test(line));
  return (lines[0] ?? (error instanceof Error ? error.message : String(error))).trim();
}
