import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Isolation } from '../../contract/capabilities.js';
import type { InstanceSpec } from '../../contract/instance.js';

/** The record of an instance on disk, written before anything of it is made. */
export interface InstanceEntry {
  /** Name of everything on the host: directory, cgroup, container. Never used twice. */
  name: string;
  /** The caller's id; absent while it waits in the pool. */
  id?: string;
  /** `making`: half-made when no process works on it. */
  state: 'making' | 'pooled' | 'live';
  spec: InstanceSpec;
  /** The isolation level from the host's kernel. Absent in records of earlier versions: `container`. */
  isolation?: Isolation;
  /** Which pair of addresses it has in the block of the network. */
  lease: number;
  /** Addresses that sockets in its restored memory may be bound to, those of what it is a copy of. Absent: none. */
  formerAddresses?: string[];
  /** First of the 65,536 host ids that are its own; absent: it has the host's. */
  firstId?: number;
  /** Its init as the host sees it, with the start time that distinguishes it from a later process. */
  pid?: number;
  start?: string;
  createdAtMs: number;
  /** A checkpoint keeps it frozen; a driver that finds this after a crash resumes it. */
  held?: boolean;
  /** Agent directory it runs from. */
  agent: string;
  /** The layers below its file system. */
  layers: string[];
  /** True if no file that it wrote has the inode number of one of its layers. Absent in records of earlier versions. */
  numbered?: boolean;
}

/** The isolation level of an instance, or of the one whose memory was stored. Records of earlier versions do not say. */
export function isolationOf({ isolation }: { isolation?: Isolation }): Isolation {
  return isolation ?? 'container';
}

/** Size of a record that fits into it, padded. The kernel takes one page whole or not at all, also of a process that is killed. */
const PAGE_BYTES = 4_096;

/** One JSON file per instance, of which a crash leaves the old or the new text. */
export class Records {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    // A process was writing this file when it was killed.
    for (const file of readdirSync(directory)) if (file.endsWith('.tmp')) rmSync(join(directory, file));
  }

  write(entry: InstanceEntry): void {
    const path = this.#path(entry.name);
    const text = Buffer.from(JSON.stringify(entry));
    const page = text.length > PAGE_BYTES ? text : Buffer.alloc(PAGE_BYTES, ' ');
    text.copy(page);
    if (page.length === PAGE_BYTES && overwrite(path, page)) return;
    writeFileSync(`${path}.tmp`, page, { mode: 0o600 });
    renameSync(`${path}.tmp`, path);
  }

  remove(name: string): void {
    rmSync(this.#path(name), { force: true });
  }

  all(): InstanceEntry[] {
    const entries: InstanceEntry[] = [];
    for (const file of readdirSync(this.#directory)) {
      if (!file.endsWith('.json')) continue;
      try {
        entries.push(JSON.parse(readFileSync(join(this.#directory, file), 'utf8')) as InstanceEntry);
      } catch {
        // Removed meanwhile; a torn file cannot be.
      }
    }
    return entries;
  }

  #path(name: string): string {
    return join(this.#directory, `${name}.json`);
  }
}

/**
 * Writes one page over another. To put a file in the place of another one is slower by far: ext4 then begins to write it to
 * the disk at once, and a rename waits while the disk is busy.
 * @returns false when there is no such page.
 */
function overwrite(path: string, page: Buffer): boolean {
  let file: number;
  try {
    file = openSync(path, 'r+');
  } catch {
    return false;
  }
  try {
    return fstatSync(file).size === PAGE_BYTES && writeSync(file, page, 0, PAGE_BYTES, 0) === PAGE_BYTES;
  } finally {
    closeSync(file);
  }
}
