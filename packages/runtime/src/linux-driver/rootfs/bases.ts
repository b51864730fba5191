import {
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BaseRoot } from '../../contract/capabilities.js';
import { DriverError } from '../../contract/errors.js';
import { findBase } from '../../host/base-root.js';
import { HOST_BASE, isBuiltBase } from '../../shared/base-name.js';
import type { Paths } from '../state/paths.js';

/**
 * The root file systems that instances stand on. They lie outside of the data directory: all servers of the host share them, and
 * each leaves a link to its data directory in `users` of those that something of its own refers to.
 */
export class Bases {
  readonly #directory: string;
  readonly #recipe: string;
  readonly #fresh: BaseRoot;
  readonly #paths: Pick<Paths, 'dataDir' | 'tag'>;
  #found: string | undefined;

  /** @param fresh what new instances stand on: the base that was built, or the host's `/usr`. */
  constructor(options: {
    directory: string;
    recipe: string;
    fresh: BaseRoot;
    paths: Pick<Paths, 'dataDir' | 'tag'>;
  }) {
    this.#directory = options.directory;
    this.#recipe = options.recipe;
    this.#fresh = options.fresh;
    this.#paths = options.paths;
  }

  /** The base of new instances. @throws {DriverError} `unsupported` while none is built. */
  fresh(): string {
    if (this.#fresh === 'host') return HOST_BASE;
    // One that is built while the driver runs is found without a new start; one that was taken stays.
    this.#found ??= this.#take();
    if (this.#found === undefined)
      throw new DriverError(
        'unsupported',
        "The root file system of the template base is not built on this machine yet: `svc server doctor --fix` builds it, in about a minute. Until then use the template host, which shows this machine's /usr, or one of an image (fromImage).",
      );
    return this.#found;
  }

  /** The base of new instances, for the operator. Undefined: nothing is built. */
  get current(): string | undefined {
    try {
      return this.fresh();
    } catch {
      return undefined;
    }
  }

  /** Absolute path of a tree; undefined when it is not here. */
  treeOf(name: string): string | undefined {
    if (!isBuiltBase(name)) return undefined;
    return existsSync(join(this.#directory, name, 'base.json'))
      ? join(this.#directory, name, 'root')
      : undefined;
  }

  /**
   * Gives up bases that nothing in this data directory refers to, and removes those that nobody uses any more.
   * @param inUse names that instances, checkpoints and layers of this data directory refer to.
   * @returns what was removed.
   */
  async release(inUse: ReadonlySet<string>): Promise<string[]> {
    const removed: string[] = [];
    for (const name of list(this.#directory)) {
      // A killed process left this draft.
      if (name.startsWith(this.#drafts))
        await rm(join(this.#directory, name), { recursive: true, force: true });
      if (!isBuiltBase(name) || inUse.has(name) || name === this.#found) continue;
      const mine = join(this.#directory, name, 'users', this.#paths.tag);
      // A driver that never used a base must not remove it: its builder may be about to use it.
      if (!isLink(mine)) continue;
      unlinkSync(mine);
      if (this.#isWanted(name)) continue;
      // Renamed first: from here on nobody can start to use it.
      const aside = join(this.#directory, `.gone.${name}`);
      renameSync(join(this.#directory, name), aside);
      for (const link of this.#linksTo(name)) rmSync(join(this.#directory, link), { force: true });
      await rm(aside, { recursive: true, force: true });
      removed.push(name);
    }
    return removed;
  }

  /** Says that this data directory uses a base. False: it is not here. */
  hold(name: string): boolean {
    if (this.treeOf(name) === undefined) return false;
    const users = join(this.#directory, name, 'users');
    mkdirSync(users, { recursive: true });
    const mine = join(users, this.#paths.tag);
    rmSync(mine, { force: true });
    symlinkSync(this.#paths.dataDir, mine);
    // It may have been given up by its last user meanwhile.
    return this.treeOf(name) !== undefined;
  }

  /** Where a base is put together that another host has: a place of this data directory alone. */
  draftOf(name: string): string {
    return join(this.#directory, `${this.#drafts}${name}`);
  }

  /** Gives a whole draft its name. New instances continue to use the base that was built here. */
  keepDraft(name: string): void {
    renameSync(this.draftOf(name), join(this.#directory, name));
    this.hold(name);
  }

  #take(): string | undefined {
    const found = findBase(this.#directory, this.#recipe);
    if (found === undefined || !isBuiltBase(found.name)) return undefined;
    return this.hold(found.name) ? found.name : undefined;
  }

  get #drafts(): string {
    return `.copied.${this.#paths.tag}.`;
  }

  #isWanted(name: string): boolean {
    // The newest base of an older recipe is treated as deleted; a server of that version builds it again.
    if (this.#linksTo(name).some((link) => link === 'current' || link === this.#recipe)) return true;
    const users = join(this.#directory, name, 'users');
    // The link of a deleted data directory counts for nothing.
    return list(users).some((user) => existsSync(join(users, user)));
  }

  #linksTo(name: string): string[] {
    return list(this.#directory).filter((entry) => target(join(this.#directory, entry)) === name);
  }
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function target(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function isLink(path: string): boolean {
  return target(path) !== undefined;
}
