import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ArchiveError } from '../../archive/archive-limits.js';
import { DriverError } from '../../contract/errors.js';
import type { ImportObjectOptions, Machine, StoredObject } from '../../contract/transfers.js';
import { removeTree } from '../../jail/remove-tree.js';
import { runProgram } from '../../shared/run-program.js';
import { openEnvelope } from '../../transfer/envelope.js';
import { guardObjectTar } from '../../transfer/guard-object.js';
import { memoryMisfit } from '../../transfer/memory-fit.js';
import { objectName } from '../../transfer/object-id.js';
import { untilAborted } from '../../transfer/until-aborted.js';
import { type CheckpointRecord, measureDraft } from '../checkpoints/checkpoint.js';
import { requireRestorable } from '../checkpoints/require-restorable.js';
import type { LinuxHost } from '../host/linux-host.js';
import { keepLayer } from '../layers/layers.js';
import type { Tiers } from '../make-tiers.js';
import { isDirectory } from '../rootfs/inside-layer.js';
import { storageFull } from '../store/storage-full.js';
import { isHere } from './describe-object.js';
import { type ObjectHead, readObjectHead } from './object-head.js';
import { runUnpacking } from './run-tar.js';
import { unpackCommand } from './tar-commands.js';

const MAX_BYTES = 32 * 2 ** 30;
/** The bytes that tar adds to files: headers and padding. */
const OVERHEAD = { factor: 1.5, bytes: 64 * 2 ** 20 };
const CALL_MS = 300_000;

export interface Importer {
  host: LinuxHost;
  tiers: Tiers;
  machine: Machine;
  /** Of drivers that this one takes objects from. */
  key: Buffer;
}

/** Takes over an object that is not here. What fails leaves a draft at most, which is removed at once or at the next start. */
export async function importObject(
  importer: Importer,
  object: StoredObject,
  archive: Readable,
  { maxBytes = MAX_BYTES, signal }: ImportObjectOptions,
): Promise<void> {
  const { host } = importer;
  await host.up();
  const bytes: AsyncIterable<Uint8Array> = signal === undefined ? archive : untilAborted(archive, signal);
  try {
    const { head: text, body } = await openEnvelope(bytes, importer.key);
    const head = readObjectHead(text, object);
    await requireWelcome(importer, head, maxBytes);
    let verified = false;
    const content = async function* () {
      yield* body;
      verified = true;
    };
    const unpackInto = async (directory: string, enter = (command: string[]) => command) => {
      const tar = guardObjectTar(content(), object.kind, {
        maxBytes: Math.ceil(head.sizeBytes * OVERHEAD.factor) + OVERHEAD.bytes,
      });
      await runUnpacking(enter(unpackCommand(directory)), Readable.from(tar, { objectMode: false }));
      // Nothing before this line is true: a source may lie until its last byte.
      if (!verified) throw new DriverError('invalid_archive', 'The copy of a stored object is cut short.');
    };
    await KEEP[object.kind](importer, head, unpackInto);
  } catch (error) {
    throw inOurWords(error);
  }
}

/** Refuses what cannot be used here before anything of it is read. @throws {DriverError} */
async function requireWelcome(importer: Importer, head: ObjectHead, maxBytes: number): Promise<void> {
  const { host, tiers, machine } = importer;
  if (head.sizeBytes > maxBytes)
    throw new DriverError('invalid_archive', 'The copy of a stored object is larger than it may be.');
  for (const needed of head.needs)
    if (!isHere(host, needed))
      throw new DriverError('not_found', `What it stands on is not on this machine: ${objectName(needed)}.`);
  if (head.checkpoint?.memory === true) {
    const misfit = memoryMisfit(head.machine, machine);
    if (misfit !== undefined)
      throw new DriverError('unsupported', `Its memory cannot resume on this machine: ${misfit}.`);
    await requireRestorable(host, tiers, recordOf(head, 0));
  }
  if (head.kind !== 'base') await host.space.require(head.sizeBytes);
}

type Unpack = (directory: string, enter?: (command: string[]) => string[]) => Promise<void>;

/** Makes an object of what is unpacked: it gets its name as the last step, once it is on disk. */
const KEEP: Record<
  StoredObject['kind'],
  (importer: Importer, head: ObjectHead, unpackInto: Unpack) => Promise<void>
> = {
  async agent({ host }, { id }, unpackInto) {
    const draft = `agents/.${id}`;
    await draftOf(host, draft, async (keeper) => {
      mkdirSync(host.store.view(draft), { mode: 0o755 });
      await unpackInto(join(host.paths.store, draft), (command) => keeper.enter(command));
      await host.store.run({ name: 'checkpoint_flush', arguments: [draft] }, { timeoutMs: CALL_MS });
      renameSync(host.store.view(draft), host.store.view(`agents/${id}`));
    });
  },

  async base({ host }, { id }, unpackInto) {
    const draft = host.bases.draftOf(id);
    await removeTree(draft);
    mkdirSync(draft, { recursive: true, mode: 0o755 });
    try {
      await unpackInto(draft);
      await runProgram('sync', ['-f', draft], { timeoutMs: CALL_MS });
      host.bases.keepDraft(id);
    } catch (error) {
      await removeTree(draft);
      throw error;
    }
  },

  async layer({ host }, { id, layer }, unpackInto) {
    const draft = `l/.${id}`;
    await draftOf(host, draft, async (keeper) => {
      await host.store.run({ name: 'layer_begin', arguments: [draft] }, { timeoutMs: CALL_MS });
      await unpackInto(join(host.paths.store, draft), (command) => keeper.enter(command));
      const { bytes } = await host.store.run(
        { name: 'store_measure', arguments: [`${draft}/root`] },
        { timeoutMs: CALL_MS },
      );
      await host.store.run({ name: 'checkpoint_flush', arguments: [draft] }, { timeoutMs: CALL_MS });
      await keepLayer(host.store, { id, full: layer!.full, base: layer!.base, sizeBytes: Number(bytes) });
    });
  },

  async checkpoint({ host }, head, unpackInto) {
    const draft = `c/.${head.id}`;
    await draftOf(host, draft, async (keeper) => {
      await host.store.run({ name: 'restore_begin_checkpoint', arguments: [draft] }, { timeoutMs: CALL_MS });
      await unpackInto(join(host.paths.store, draft), (command) => keeper.enter(command));
      for (const part of ['img', 'sv/u'])
        if (!isDirectory(host.store.view(`${draft}/${part}`)))
          throw new DriverError('invalid_archive', 'A part of the copy of a stored object is missing.');
      const sizeBytes = await measureDraft(host, {
        images: host.store.view(`${draft}/img`),
        inMemory: false,
        draft,
        durable: true,
      });
      writeFileSync(host.store.view(`${draft}/record.json`), JSON.stringify(recordOf(head, sizeBytes)));
      await host.store.run({ name: 'checkpoint_flush', arguments: [draft] }, { timeoutMs: CALL_MS });
      renameSync(host.store.view(draft), host.store.view(`c/${head.id}`));
    });
  },
};

function recordOf({ id, checkpoint }: ObjectHead, sizeBytes: number): CheckpointRecord {
  return { ...checkpoint!, id, sizeBytes };
}

/** Makes something in the store under the name of a draft, without what a failed attempt left. */
async function draftOf(
  host: LinuxHost,
  draft: string,
  make: (keeper: Awaited<ReturnType<LinuxHost['up']>>) => Promise<void>,
): Promise<void> {
  const keeper = await host.up();
  const clear = async () => {
    if (existsSync(host.store.view(draft))) await host.store.remove(draft);
  };
  await clear();
  try {
    await make(keeper);
  } catch (error) {
    await clear().catch((failure: unknown) =>
      host.log('warn', 'half of a copy stays until the next start', { draft, error: String(failure) }),
    );
    throw error;
  }
}

function inOurWords(error: unknown): unknown {
  if (ArchiveError.is(error))
    return new DriverError('invalid_archive', `The copy of a stored object is refused: ${error.message}.`, {
      cause: error,
    });
  return storageFull(error);
}
