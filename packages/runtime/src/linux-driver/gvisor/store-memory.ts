import { join } from 'node:path';
import { saysDiskFull } from '#support/disk-full';
import { DriverError } from '../../contract/errors.js';
import { dialTcp } from '../../shared/dial.js';
import { DAEMON_PORT } from '../../shared/dial-instance.js';
import { readText } from '../../shared/read-text.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import type { InstanceEntry } from '../state/records.js';
import { storeIsFull } from '../store/storage-full.js';
import type { StoreMemoryOptions } from '../tiers/tier.js';
import { settleDaemon } from './settle-daemon.js';

/** Longest for one call of the runtime. A checkpoint writes about 500 MiB per second. */
const CALL_TIMEOUT_S = 90;
const RESUME_TIMEOUT_S = 10;
const HANG_UP_TIMEOUT_MS = 30_000;

/**
 * Writes the memory of an instance and copies its file system. gVisor's kernel stops its programs, writes them down and
 * leaves them stopped. A frozen instance has to run for the moments that this takes to begin, and to end.
 * @param command see `runscCommand`.
 */
export async function storeMemory(
  host: LinuxHost,
  keeper: NamespaceKeeper,
  command: readonly string[],
  entry: InstanceEntry,
  { draft, images, onQuiesced }: StoreMemoryOptions,
): Promise<void> {
  const { cgroups, paths, store } = host;
  const work = join(paths.store, draft, 'wk');
  const wasFrozen = cgroups.frozen(entry.name);
  const address = host.network.addressOf(entry.lease);
  onQuiesced();
  if (wasFrozen) cgroups.thaw(entry.name);
  let held: Disposable | undefined;
  try {
    await keeper.script(
      { name: 'gvisor_hang_up', arguments: [address, `${DAEMON_PORT}`] },
      { timeoutMs: HANG_UP_TIMEOUT_MS },
    );
    held = await settleDaemon((signal) => dialTcp(address, DAEMON_PORT, signal));
    const call = store.call({
      name: 'gvisor_store',
      variables: { WORK: work, ADDRESS: address },
      arguments: [entry.name, images, `i/${entry.name}/sv`, `${draft}/sv`, `${CALL_TIMEOUT_S}`, ...command],
    });
    const result = await keeper.script(call, { timeoutMs: (2 * CALL_TIMEOUT_S + 60) * 1000 });
    if (result.code === 0) return;
    const logs = ['pause.log', 'dump.log'].map((name) => readText(keeper.view(join(work, name))) ?? '');
    // The reason comes first; pages of stack may follow it.
    const detail = `${logs.join('')}${result.stderr}`.trim().slice(0, 4000);
    host.log('warn', 'a checkpoint failed', { instance: entry.name, detail });
    if (saysDiskFull(detail) || store.isFull()) throw storeIsFull({ detail });
    if (result.code === undefined || result.code === 137)
      throw new DriverError('timeout', 'Storing the memory of the sandbox took too long.', { detail });
    throw new DriverError(
      'undumpable',
      `The memory of the sandbox cannot be stored${explainFailure(detail)}.`,
      { detail },
    );
  } finally {
    held?.[Symbol.dispose]();
    if (wasFrozen) {
      await letGo(host, command, entry);
      await cgroups.freeze(entry.name);
    }
  }
}

/** Explains a failed checkpoint to the user. Pure. */
export function explainFailure(detail: string): string {
  const deleted = /dentry\("([^"]{1,200})"\)\.beforeSave: deleted/.exec(detail)?.[1];
  return deleted === undefined ? '' : `: a program holds a deleted file open (/${deleted})`;
}

/** Resumes an instance that was stopped in any way. */
export async function letGo(
  host: LinuxHost,
  command: readonly string[],
  entry: InstanceEntry,
): Promise<void> {
  host.cgroups.thaw(entry.name);
  await host.up();
  // It fails for one that is not frozen.
  const call = { name: 'gvisor_resume', arguments: [entry.name, `${RESUME_TIMEOUT_S}`, ...command] };
  await host.current?.script(call, { timeoutMs: (RESUME_TIMEOUT_S + 10) * 1000 });
}
