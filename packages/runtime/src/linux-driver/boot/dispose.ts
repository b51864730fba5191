import { setTimeout as sleep } from 'node:timers/promises';
import { quote } from '#support/quote';
import { DriverError } from '../../contract/errors.js';
import type { RetryLater } from '../../shared/retry-later.js';
import { isRunning, type LinuxHost } from '../host/linux-host.js';
import type { InstanceEntry } from '../state/records.js';
import { unbindMounts } from './volume-binds.js';

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
        // Gone meanwhile.
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
    for (let tries = 0; !host.cgroups.remove(entry.name) && tries < 50; tries += 1) await sleep(20);
    host.network.release(entry.slot);
    host.records.remove(entry.name);
  };
}

/** Nothing runs in there any more, so the second try finds what the first one left. */
async function removeFiles(host: LinuxHost, entry: InstanceEntry): Promise<void> {
  const keeper = await host.up();
  const here = `i/${entry.name}`;
  const result = await keeper.script(
    `cd ${quote(host.paths.store)} || exit 9
${unbindMounts(entry.name)}
umount ${here}/usr 2>/dev/null || umount -l ${here}/usr 2>/dev/null
umount ${here}/m 2>/dev/null || umount -l ${here}/m 2>/dev/null
rm -rf ${quote(`${host.paths.oci}/${entry.name}`)}
${host.network.unplumb(entry.slot)}
${host.store.remove(here)}
[ ! -e ${here} ]`,
    { timeoutMs: 120_000 },
  );
  if (result.code !== 0)
    throw new DriverError('create_failed', 'The files of a sandbox could not be removed.', {
      detail: result.timedOut ? 'it took too long' : result.stderr.trim().slice(-2000),
    });
}
