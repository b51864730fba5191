import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Isolation } from '../../contract/capabilities.js';
import { DriverError } from '../../contract/errors.js';
import type { Checkpoint, CheckpointOptions } from '../../contract/instance.js';
import { requireCheckpointId } from '../../shared/instance-id.js';
import { unrestorable } from '../criu/undumpable.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { InstanceEntry } from '../state/records.js';
import { storageFull } from '../store/storage-full.js';
import type { OciTier } from '../tiers/tier.js';
import { type HostFile, openHostFiles } from './host-files.js';
import { fitsInMemory, forgetImages, imageDirectory, makeImageDirectory } from './image-directory.js';

const DUMP_ATTEMPTS = 3;

/** A copy of a copy of a copy keeps the addresses of so many of them. */
const MAX_ADDRESSES = 16;

/** The record beside a checkpoint. */
export interface CheckpointRecord {
  id: string;
  memory: boolean;
  /** Its images are not in the store. */
  inMemory?: boolean;
  sizeBytes: number;
  layers: string[];
  /** The isolation level of the instance; memory is restored on the same. Absent in checkpoints of earlier versions: `container`. */
  isolation?: Isolation;
  /** Addresses that stored sockets may be bound to, the latest first. Absent in checkpoints of earlier versions. */
  addresses?: string[];
  /** The agent whose code the stored processes run. */
  agent: string;
  /** The hostname of the machine; its files contain it. */
  hostname?: string;
  /** Files of the host's `/usr` that the stored programs had open. Absent: the file system shows nothing of the host. */
  hostFiles?: HostFile[] | undefined;
  /** As in the record of the instance. */
  numbered?: boolean | undefined;
  /** Mount targets that were there; memory refers to them. */
  mounts: string[];
}

/** A checkpoint that is not done yet. */
export interface RestoreTrial {
  checkpoint: CheckpointRecord;
  /** Where the store has it, below `c`. */
  checkpointId: string;
  /** Its images, as the keeper's namespace has them. */
  images: string;
}

/** The services of the driver that storing an instance uses. */
export interface CheckpointOwner {
  host: LinuxHost;
  tier: OciTier;
  tryRestore(entry: InstanceEntry, trial: RestoreTrial, signal?: AbortSignal): Promise<void>;
}

export function readCheckpoint(host: LinuxHost, id: string): CheckpointRecord | undefined {
  try {
    return JSON.parse(readFileSync(host.store.view(`c/${id}/record.json`), 'utf8')) as CheckpointRecord;
  } catch {
    return undefined;
  }
}

/**
 * Stores an instance. It is frozen meanwhile and afterwards as it was before. Memory is known to be restorable afterwards, but for that
 * of copies at once, whose source lives on and which report by themselves.
 */
export async function checkpointInstance(
  { host, tier, tryRestore }: CheckpointOwner,
  entry: InstanceEntry,
  options: CheckpointOptions,
): Promise<Checkpoint> {
  const id = requireCheckpointId(options.checkpointId);
  if (options.memory && tier.memoryProblem !== undefined) {
    throw new DriverError('unsupported', `Memory cannot be stored on this host. ${tier.memoryProblem}`);
  }
  options.signal?.throwIfAborted();
  const keeper = await host.up();
  if (readCheckpoint(host, id) !== undefined) {
    throw new DriverError('busy', `There is a checkpoint "${id}" already.`);
  }
  // A dump that runs into the end of the disk has stopped its programs for nothing.
  const { memoryBytes, memoryCacheBytes } = host.cgroups.usage(entry.name);
  const imageBytes = options.memory ? memoryBytes - memoryCacheBytes : 0;
  const wasFrozen = host.cgroups.frozen(entry.name);
  // One that must stay frozen is not stored a second time, should there be too little room.
  const brief = options.memory && options.brief === true && options.then === 'continue' && !wasFrozen;
  let inMemory = brief && tier.isolation === 'container' && fitsInMemory(keeper, imageBytes);
  await host.space.require(inMemory ? 0 : imageBytes);
  if (options.memory) await tier.requireStorable(entry);
  const draft = `c/.${id}`;
  const clear = async () => {
    await clearDraft(host, draft);
    const images = inMemory ? imageDirectory(host, { id, inMemory }) : join(host.paths.store, draft, 'img');
    await makeImageDirectory(keeper, images);
    return images;
  };
  let images = await clear();
  let frozenMs = 0;
  let hostFiles: HostFile[] | undefined;
  try {
    for (let attempt = 1; ; attempt += 1) {
      try {
        let since = 0;
        const onQuiesced = () => {
          since = performance.now();
          if (!wasFrozen) host.records.write({ ...entry, held: true });
        };
        if (options.memory) {
          await tier.storeMemory(keeper, entry, { draft, images, onQuiesced });
          // A kernel of its own has copies of what it read.
          if (tier.isolation === 'container') hostFiles = await openHostFiles(host, keeper, entry);
        } else {
          onQuiesced();
          await host.cgroups.freeze(entry.name);
          await host.store.copy(`i/${entry.name}/sv`, `${draft}/sv`);
        }
        // An instance that is about to end must not run on past its checkpoint.
        if (!wasFrozen && options.then === 'continue') {
          if (options.memory) await tier.letGo(entry);
          else host.cgroups.thaw(entry.name);
        }
        frozenMs = performance.now() - since;
        break;
      } catch (error) {
        // It stays frozen with any outcome.
        if (!wasFrozen) await tier.letGo(entry);
        // Some obstacles pass by themselves: a program between vfork and exec, a socket half accepted.
        const code = DriverError.is(error) ? error.code : undefined;
        const outOfRoom = inMemory && code === 'storage_full';
        const hopeless = !outOfRoom && (code !== 'undumpable' || attempt >= DUMP_ATTEMPTS);
        if (hopeless || wasFrozen) throw error;
        options.signal?.throwIfAborted();
        if (outOfRoom) {
          await forgetImages(keeper, id);
          inMemory = false;
          await host.space.require(imageBytes);
        }
        images = await clear();
        await sleep(20 * attempt);
        await tier.requireStorable(entry);
      }
    }
    const durable = options.then === 'destroy';
    const sizeBytes = await measureDraft(host, { images: keeper.view(images), inMemory, draft, durable });
    const record: CheckpointRecord = {
      id,
      memory: options.memory,
      ...(inMemory ? { inMemory } : {}),
      sizeBytes,
      layers: entry.layers,
      numbered: entry.numbered,
      isolation: tier.isolation,
      addresses: [...new Set([host.network.addressOf(entry.lease), ...(entry.formerAddresses ?? [])])].slice(
        0,
        MAX_ADDRESSES,
      ),
      agent: entry.agent,
      hostFiles,
      hostname: entry.id ?? entry.name,
      mounts: entry.spec.mounts.map((mount) => mount.target),
    };
    writeFileSync(host.store.view(`${draft}/record.json`), JSON.stringify(record));
    if (options.memory && options.brief !== true && tier.isolation === 'container')
      await tryRestore(entry, { checkpoint: record, checkpointId: `.${id}`, images }, options.signal).catch(
        (error: unknown) => {
          throw unrestorable(error, host.cgroups.pids(entry.name));
        },
      );
    renameSync(host.store.view(draft), host.store.view(`c/${id}`));
    if (durable)
      await host.store.run({ name: 'checkpoint_flush', arguments: [`c/${id}`] }, { timeoutMs: 300_000 });
    return { id, memory: record.memory, sizeBytes: record.sizeBytes, frozenMs: Math.round(frozenMs) };
  } catch (error) {
    if (!wasFrozen) await tier.letGo(entry);
    await forgetImages(keeper, id).catch(() => undefined);
    await host.store.remove(draft).catch(() => undefined);
    throw storageFull(error);
  } finally {
    host.records.write(entry);
  }
}

/** Makes the directory of a checkpoint that is not done yet, without what a failed attempt left in it. */
async function clearDraft(host: LinuxHost, draft: string): Promise<void> {
  const directory = host.store.view(draft);
  if (existsSync(directory)) await host.store.remove(draft);
  mkdirSync(join(directory, 'wk'), { recursive: true });
}

/**
 * Bytes that a checkpoint holds: its images, and its file system with extents that several of its files share counted
 * once. What it shares with its source and with other checkpoints is part of it: it stays when those go.
 */
export async function measureDraft(
  host: LinuxHost,
  {
    images,
    inMemory,
    draft,
    durable,
  }: { images: string; inMemory: boolean; draft: string; durable: boolean },
): Promise<number> {
  rmSync(host.store.view(join(draft, 'wk')), { recursive: true, force: true });
  let imageBytes = 0;
  for (const name of readdirSync(images)) {
    const path = join(images, name);
    const { blocks, mode } = statSync(path);
    // A restore must not change what the next one starts from. Kernels before 6.3 map no ids of memory, where nobody else gets to.
    chmodSync(path, inMemory ? 0o444 : mode & 0o7555);
    imageBytes += blocks * 512;
  }
  const counted = host.store.kind === 'btrfs' && host.store.quota;
  const { subvolume, bytes } = await host.store.run(
    {
      name: 'checkpoint_measure',
      variables: { DURABLE: durable ? 'yes' : undefined, COUNTED: counted ? 'yes' : undefined },
      arguments: [draft],
    },
    { timeoutMs: 300_000 },
  );
  return imageBytes + (counted ? (host.store.usedBytes(Number(subvolume)) ?? 0) : Number(bytes));
}
