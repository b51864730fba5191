import { execFile } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';

/** The text that the attacks look for in a sandbox's view. */
export const SECRET = 'the-secret-of-the-host';

/** A directory of the host with files that attacks aim at: nothing in it may be read, changed, added or deleted. */
export class Outside {
  readonly #parent: string | undefined;
  #path: string | undefined;
  #before = '';

  constructor(parent?: string) {
    this.#parent = parent;
  }

  /** Makes it and gives its absolute path. */
  async make(): Promise<string> {
    await this.remove();
    const path = await mkdtemp(join(this.#parent ?? tmpdir(), 'outside-'));
    this.#path = path;
    for (const directory of ['', 'bin', 'lib', 'home', 'volume'].map((each) => join(path, each))) {
      await mkdir(directory, { recursive: true });
      for (const file of ['secret', 'hosts', 'hostname', 'resolv.conf', 'passwd'])
        await writeFile(join(directory, file), SECRET, { mode: 0o600 });
    }
    this.#before = await this.#state();
    return path;
  }

  /** Takes what a test added for a part of it. */
  async remember(): Promise<void> {
    this.#before = await this.#state();
  }

  /** Checks that everything is as it was made. */
  async expectUntouched(): Promise<void> {
    expect(await this.#state()).toBe(this.#before);
  }

  async remove(): Promise<void> {
    if (this.#path !== undefined) await rm(this.#path, { recursive: true, force: true });
    this.#path = undefined;
  }

  async #state(): Promise<string> {
    const path = this.#path!;
    const lines: string[] = [];
    for (const name of ['.', ...(await readdir(path, { recursive: true })).sort()]) {
      const { mode, uid, gid, nlink, size } = await lstat(join(path, name));
      const text = (mode & 0o170000) === 0o100000 ? await readFile(join(path, name), 'utf8') : '';
      lines.push([name, mode.toString(8), uid, gid, nlink, size, text].join(' '));
    }
    // A mount that hides it would show here too.
    const { stdout } = await promisify(execFile)('cat', ['/proc/self/mountinfo']);
    lines.push(...stdout.split('\n').filter((line) => line.includes(` ${path}`)));
    return lines.join('\n');
  }
}
