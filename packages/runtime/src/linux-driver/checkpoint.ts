import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DriverError } from '../contract/errors.js';
import type { Checkpoint, CheckpointOptions } from '../contract/instance.js';
import { requireCheckpointId } from '../shared/instance-id.js';
import type { Holder } from './holder.js';
import type { Host } from './host.js';
import type { InstanceEntry } from './records.js';
import { quote } from './run.js';
import { explainDumpFailure, findUndumpable } from './undumpable.js';

/** A dump writes about 1 GiB per second; what takes longer than this hangs. */
const DUMP_TIMEOUT_S = 60;
const DUMP_ATTEMPTS = 3;

/** What is stored beside a checkpoint. */
export interface CheckpointRecord {
  id: string;
  memory: boolean;
  sizeBytes: number;
  layers: string[];
  /** The agent whose code the stored processes run. */
  agent: string;
  /** Mount targets that were there; memory refers to them. */
  mounts: string[];
}

export function readCheckpoint(host: Host, holder: Holder, id: string): CheckpointRecord | undefined {
  try {
    return JSON.parse(readFileSync(host.view(holder, `c/${id}/record.json`), 'utf8')) as CheckpointRecord;
  } catch {
    return undefined;
  }
}

/** Stores an instance. It is frozen meanwhile and afterwards as it was before. */
export async function checkpointInstance(
  host: Host,
  entry: InstanceEntry,
  options: CheckpointOptions,
): Promise<Checkpoint> {
  const id = requireCheckpointId(options.checkpointId);
  if (options.memory && host.criu === undefined) {
    throw new DriverError(
      'unsupported',
      'Memory cannot be stored on this host: CRIU 4.2 or later is missing.',
    );
  }
  options.signal?.throwIfAborted();
  const holder = await host.up();
  if (readCheckpoint(host, holder, id) !== undefined) {
    throw new DriverError('busy', `There is a checkpoint "${id}" already.`);
  }
  if (options.memory) refuseUndumpable(host, entry);
  const draft = `c/.${id}`;
  await host.inStore(holder, `${host.store.remove(draft)}\nmkdir -p ${draft}/img`, 'create_failed', 60_000);
  const wasFrozen = host.cgroups.frozen(entry.name);
  let frozenMs = 0;
  try {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const since = performance.now();
        if (!wasFrozen) host.records.write({ ...entry, held: true });
        await host.cgroups.freeze(entry.name);
        await capture(host, holder, entry, options.memory, draft);
        // What is about to end must not run on past its checkpoint.
        if (!wasFrozen && options.then === 'continue') host.cgroups.thaw(entry.name);
        frozenMs = performance.now() - since;
        break;
      } catch (error) {
        // A dump leaves the cgroup frozen whatever its outcome.
        if (!wasFrozen) host.cgroups.thaw(entry.name);
        // Some obstacles pass by themselves: a program between vfork and exec, a socket half accepted.
        const hopeless = !DriverError.is(error) || error.code !== 'undumpable' || attempt >= DUMP_ATTEMPTS;
        if (hopeless || wasFrozen) throw error;
        options.signal?.throwIfAborted();
        await host.inStore(
          holder,
          `${host.store.remove(draft)}\nmkdir -p ${draft}/img`,
          'create_failed',
          60_000,
        );
        await sleep(20 * attempt);
        refuseUndumpable(host, entry);
      }
    }
    const size = await host.inStore(
      holder,
      `rm -rf ${draft}/wk; chmod -R a-w ${draft}/img; du -s -B1 ${draft}${options.then === 'destroy' ? `; sync -f ${draft}` : ''}`,
      'create_failed',
      300_000,
    );
    const record: CheckpointRecord = {
      id,
      memory: options.memory,
      sizeBytes: Number(/^(\d+)\s/m.exec(size.stdout)?.[1] ?? 0),
      layers: entry.layers,
      agent: entry.agent,
      mounts: entry.spec.mounts.map((mount) => mount.target),
    };
    writeFileSync(host.view(holder, `${draft}/record.json`), JSON.stringify(record));
    await host.inStore(
      holder,
      `mv ${draft} c/${id}${options.then === 'destroy' ? `; sync -f c/${id}` : ''}`,
      'create_failed',
      60_000,
    );
    return { id, memory: record.memory, sizeBytes: record.sizeBytes, frozenMs: Math.round(frozenMs) };
  } catch (error) {
    if (!wasFrozen) host.cgroups.thaw(entry.name);
    await host.inStore(holder, host.store.remove(draft), 'create_failed', 60_000).catch(() => undefined);
    throw error;
  } finally {
    host.records.write(entry);
  }
}

function refuseUndumpable(host: Host, entry: InstanceEntry): void {
  const found = findUndumpable(entry.pid!, host.cgroups.pids(entry.name), host.cgroups.version);
  if (found.length > 0) {
    throw new DriverError('undumpable', `The memory of the sandbox cannot be stored: ${found.join('; ')}.`);
  }
}

async function capture(
  host: Host,
  holder: Holder,
  entry: InstanceEntry,
  memory: boolean,
  draft: string,
): Promise<void> {
  const { store, paths } = host;
  const here = `i/${entry.name}`;
  const copy = store.copy(`${here}/sv`, `${draft}/sv`);
  if (!memory) {
    await host.inStore(holder, `set -e\n${copy}`, 'create_failed', 300_000);
    return;
  }
  mkdirSync(host.view(holder, `${draft}/wk`), { recursive: true });
  const result = await holder.script(
    `cd ${quote(paths.store)} || exit 9
${host.runtimePath}
timeout -s KILL ${DUMP_TIMEOUT_S} ${quote(host.runtime)} --root ${quote(paths.oci)} --log ${quote(join(paths.store, draft, 'wk/oci.log'))} checkpoint --leave-running --image-path ${quote(join(paths.store, draft, 'img'))} --work-path ${quote(join(paths.store, draft, 'wk'))} ${entry.name} </dev/null >/dev/null 2>&1 || exit 7
set -e
${copy}`,
    { timeoutMs: (DUMP_TIMEOUT_S + 60) * 1000 },
  );
  if (result.code === 0) return;
  const log = readLog(host.view(holder, `${draft}/wk/dump.log`));
  const detail = `${log
    .split('\n')
    .filter((line) => /Error|Warn/.test(line))
    .slice(-12)
    .join('\n')}\n${readLog(host.view(holder, `${draft}/wk/oci.log`)).slice(-1000)}\n${result.stderr}`.trim();
  host.log('warn', 'a checkpoint failed', { instance: entry.name, detail });
  if (/No space left|Disk quota exceeded/.test(detail)) {
    throw new DriverError('storage_full', 'The storage of the sandboxes is full.', { detail });
  }
  if (result.code === undefined || result.code === 137) {
    throw new DriverError('timeout', 'Storing the memory of the sandbox took too long.', { detail });
  }
  throw new DriverError(
    'undumpable',
    `The memory of the sandbox cannot be stored: ${explainDumpFailure(log)}.`,
    { detail },
  );
}

function readLog(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
