import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BaseOptions, baseDirectory } from '../host/base-root.js';
import { type Packing, startPacking } from '../linux-driver/transfer/run-tar.js';
import { packCommand } from '../linux-driver/transfer/tar-commands.js';
import { isBuiltBase } from '../shared/base-name.js';
import { type OpenedStore, openStoreOf } from './open-store.js';
import { entryKey, isStoreEntry, type StoreEntry } from './store-entry.js';

/** Copies of subvolumes are made at once, those of directories file by file. */
const STAGE_MS = 600_000;

export interface StoreBackupOptions extends BaseOptions {
  /** Data directory of the `linux` driver. */
  dataDir: string;
}

/** The parts of a `linux` driver's storage that a backup reads. The driver may be running meanwhile. */
export interface StoreBackup {
  /**
   * Takes hold of what is there now and was not yet: what is deleted later is packed all the same. Layers, checkpoints, and
   * volumes as they are at this moment.
   */
  stage(): Promise<void>;
  /** The entries that are leased, and those they are based on: daemons, and bases unless those are left out. */
  entries(options: { bases: boolean }): StoreEntry[];
  /** Names of bases that its entries stand on and that are not on this machine. */
  missingBases(): string[];
  pack(entry: StoreEntry): Packing;
  /** Releases everything. */
  close(): Promise<void>;
}

/**
 * Opens the storage of a driver for a backup, as root. It works beside a running driver; where none runs, none can start
 * until it is closed.
 * @throws {DriverError} `busy` while a driver starts
 */
export async function openStoreBackup(options: StoreBackupOptions): Promise<StoreBackup> {
  const bases = baseDirectory(options);
  const store = await openStoreOf(options.dataDir, bases);
  const run = randomBytes(4).toString('hex');
  const staged = new Map<string, { entry: StoreEntry; copy: string }>();
  const inside = (path: string) => join(store.paths.store, path);
  const view = (path: string) => store.keeper.view(inside(path));
  return {
    async stage() {
      const copies = await store.run({ name: 'backup_stage', arguments: [run] }, STAGE_MS);
      for (const [name, copy] of Object.entries(copies)) {
        const [folder, id = ''] = name.split('/');
        const kind = ({ l: 'layer', c: 'checkpoint', v: 'volume' } as const)[folder!];
        if (kind === undefined) continue;
        const entry = { kind, id };
        if (isStoreEntry(entry)) staged.set(entryKey(entry), { entry, copy });
      }
      for (const id of plainVolumes(store)) {
        const entry = { kind: 'volume', id } as const;
        staged.set(entryKey(entry), { entry, copy: '' });
      }
    },
    entries(which) {
      const own = [...staged.values()].map(({ entry }) => entry);
      const agents = names(view('agents')).map((id): StoreEntry => ({ kind: 'agent', id }));
      const found = which.bases ? basesOf(staged.values(), view).filter((id) => isThere(bases, id)) : [];
      return [
        ...agents.filter(isStoreEntry),
        ...found.map((id): StoreEntry => ({ kind: 'base', id })),
        ...own,
      ];
    },
    missingBases: () => basesOf(staged.values(), view).filter((id) => !isThere(bases, id)),
    pack(entry) {
      const enter = (command: string[]) => store.keeper.enter(command);
      switch (entry.kind) {
        case 'agent':
          return startPacking(enter(packCommand(inside(`agents/${entry.id}`), ['.'])));
        case 'base':
          // Which data directories use it is this machine's matter.
          return startPacking(packCommand(join(bases, entry.id), ['.'], ['./users']));
        default: {
          const { copy } = staged.get(entryKey(entry))!;
          if (copy === '') return startPacking(packCommand(join(store.paths.volumes, entry.id), ['.']), true);
          return startPacking(enter(packCommand(inside(copy), PARTS[entry.kind])));
        }
      }
    },
    async close() {
      try {
        await store.run({ name: 'backup_drop', arguments: [run] }, STAGE_MS);
      } finally {
        await store.close();
      }
    },
  };
}

/** The parts of an entry that are packed; the empty part beside a layer is made anew from it. */
const PARTS = {
  layer: ['layer.json', 'root'],
  checkpoint: ['record.json', 'img', 'sv'],
  volume: ['.'],
} as const;

/** Volumes of a store without subvolumes lie beside it. */
function plainVolumes({ kind, paths }: OpenedStore): string[] {
  return kind === 'btrfs' ? [] : names(paths.volumes).filter((id) => isStoreEntry({ kind: 'volume', id }));
}

/** Bases that checkpoints and layers stand on. */
function basesOf(
  staged: Iterable<{ entry: StoreEntry; copy: string }>,
  view: (path: string) => string,
): string[] {
  const found = new Set<string>();
  for (const { entry, copy } of staged) {
    if (entry.kind === 'layer') found.add(String(readJson(view(`${copy}/layer.json`)).base));
    if (entry.kind !== 'checkpoint') continue;
    const { layers } = readJson(view(`${copy}/record.json`));
    for (const layer of Array.isArray(layers) ? layers : []) found.add(String(layer));
  }
  return [...found].filter(isBuiltBase).sort();
}

function readJson(path: string): Record<string, unknown> {
  return JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
}

function isThere(bases: string, id: string): boolean {
  return existsSync(join(bases, id, 'base.json'));
}

function names(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => !name.startsWith('.'));
  } catch {
    return [];
  }
}
