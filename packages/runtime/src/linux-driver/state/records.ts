import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Isolation } from '../../contract/capabilities.js';
import type { InstanceSpec } from '../../contract/instance.js';

/** What is remembered of an instance on disk, written before anything of it is made. */
export interface InstanceEntry {
  /** Name of everything on the host: directory, cgroup, container. Never used twice. */
  name: string;
  /** The caller's id; absent while it waits in the pool. */
  id?: string;
  /** `making`: half-made when no process works on it. */
  state: 'making' | 'pooled' | 'live';
  spec: InstanceSpec;
  /** What keeps it apart from the host's kernel. Absent in records of earlier versions: `container`. */
  isolation?: Isolation;
  /** Which pair of addresses it has in the block of the network. */
  lease: number;
  /** First of the 65,536 host ids that are its own; absent: it has the host's. */
  firstId?: number;
  /** Its init as the host sees it, with the start time that tells it from a later process. */
  pid?: number;
  start?: string;
  createdAtMs: number;
  /** A checkpoint holds it frozen; a driver that finds this after a crash lets it go on. */
  held?: boolean;
  /** Agent directory it runs from. */
  agent: string;
  /** What its file system stands on. */
  layers: string[];
}

/** One JSON file per instance. Replaced as a whole, so a crash leaves the old or the new one. */
export class Records {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    // What a process was writing when it was killed.
    for (const file of readdirSync(directory)) if (file.endsWith('.tmp')) rmSync(join(directory, file));
  }

  write(entry: InstanceEntry): void {
    const path = this.#path(entry.name);
    writeFileSync(`${path}.tmp`, JSON.stringify(entry), { mode: 0o600 });
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
