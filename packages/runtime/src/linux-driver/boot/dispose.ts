import { setTimeout as sleep } from 'node:timers/promises';
import type { RetryLater } from '../../shared/retry-later.js';
import { isRunning, type LinuxHost } from '../host/linux-host.js';
import { bindsOf, mountsOf } from '../state/mount-points.js';
import type { InstanceEntry } from '../state/records.js';

const KILL_TIMEOUT_MS = 10_000;

/** Ends every process of an instance; gives the rest of the clean-up, for which nobody needs to wait. */
export async function disposeInstance(
  host: LinuxHost,
  entry: InstanceEntry,
  cleanUp: RetryLater,
): Promise<() => Promise<void>> {
  const deadline = Date.now() + KILL_TIMEOUT_MS;
  for (let delayMs = 1; ; delayMs = Math.min(delayMs * 2, 50)) {
    // Again and again: a runtime that was being aborted may add a process after the first sweep.
    host.cgroups.kill(entry.name);
    if (isRunning(entry)) {
      try {
        process.kill(entry.pid!, 'SIGKILL');
      } catch {
        // It ended meanwhile.
      }
    }
    if (!isRunning(entry) && host.cgroups.pids(entry.name).length === 0) break;
    if (Date.now() > deadline) {
      host.log('error', 'processes of an instance do not end', { instance: entry.name });
      break;
    }
    await sleep(delayMs);
  }
  return async () => {
    await cleanUp.attempt(`files of instance ${entry.name}`, () => removeFiles(host, entry));
    host.shares.remove(entry.name);
    for (let tries = 0; !host.cgroups.remove(entry.name) && tries < 50; tries += 1) await sleep(20);
    await withdraw(host, entry);
    host.network.release(entry.lease);
    host.ids?.release(entry.firstId);
    host.records.remove(entry.name);
  };
}

/** Is not tried again, which could meet the next owner of the lease. The rest concerns a deleted veth pair. */
async function withdraw(host: LinuxHost, { name, lease }: InstanceEntry): Promise<void> {
  try {
    await host.network.withdraw(await host.up(), lease);
  } catch (error) {
    host.log('warn', 'rules of an instance that ended stay behind', { instance: name, error: String(error) });
  }
}

/** Nothing runs in there any more, so the second try finds what the first one left. */
async function removeFiles(host: LinuxHost, entry: InstanceEntry): Promise<void> {
  await host.up();
  await host.store.run(
    {
      name: 'instance_remove',
      variables: {
        INSTANCE: entry.name,
        AT: mountsOf(entry.name),
        MOUNT_BINDS: bindsOf(entry.name),
        OCI: host.paths.oci,
        LEASE: entry.lease,
      },
      arguments: host.store.removal(`i/${entry.name}`),
    },
    { message: 'The files of a sandbox could not be removed.', timeoutMs: 120_000 },
  );
}
