import { setTimeout as sleep } from 'node:timers/promises';
import { type Host, isRunning } from './host.js';
import type { InstanceEntry } from './records.js';
import { quote } from './run.js';

const KILL_TIMEOUT_MS = 10_000;

/** Ends every process of an instance; gives the rest of the clean-up, for which nobody needs to wait. */
export async function disposeInstance(host: Host, entry: InstanceEntry): Promise<() => Promise<void>> {
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
  return () => removeTraces(host, entry);
}

async function removeTraces(host: Host, entry: InstanceEntry): Promise<void> {
  const holder = await host.up();
  const here = `i/${entry.name}`;
  const result = await holder.script(
    `cd ${quote(host.paths.store)} || exit 9
umount ${here}/usr 2>/dev/null || umount -l ${here}/usr 2>/dev/null
umount ${here}/m 2>/dev/null || umount -l ${here}/m 2>/dev/null
${host.store.remove(here)}
rm -rf ${quote(`${host.paths.oci}/${entry.name}`)}
${host.network.unplumb(entry.slot)}`,
    { timeoutMs: 120_000 },
  );
  if (result.code !== 0)
    host.log('warn', 'clean-up was incomplete', { instance: entry.name, detail: result.stderr });
  for (let tries = 0; !host.cgroups.remove(entry.name) && tries < 50; tries += 1) await sleep(20);
  host.network.release(entry.slot);
  host.records.remove(entry.name);
}
