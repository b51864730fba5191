import { spawn } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Layers } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import type { LayerInfo } from '../contract/instance.js';
import { randomId, requireLayerId } from '../shared/instance-id.js';
import type { Host } from './host.js';
import { TOOL_PATH } from './run.js';

/** Layers in the store. @param inUse whether an instance or checkpoint stands on a layer. */
export function linuxLayers(host: Host, inUse: (id: string) => Promise<boolean> | boolean): Layers {
  return {
    async importTar(tar: Readable, options: { signal?: AbortSignal } = {}): Promise<LayerInfo> {
      const holder = await host.up();
      const id = randomId();
      const draft = `l/.${id}`;
      const directory = host.view(holder, draft);
      mkdirSync(`${directory}/root`, { recursive: true });
      try {
        await extract(tar, `${directory}/root`, options.signal);
        const full = ['bin/sh', 'usr/bin/sh', 'etc/os-release', 'usr/lib/os-release'].some((path) =>
          present(`${directory}/root`, path),
        );
        const result = await host.inStore(
          holder,
          `rm -rf ${draft}/root/.sbx; du -s -B1 ${draft}/root`,
          'create_failed',
          300_000,
        );
        const sizeBytes = Number(/^(\d+)\s/m.exec(result.stdout)?.[1] ?? 0);
        const facts = { full, hasUsr: existsSync(`${directory}/root/usr`), sizeBytes };
        writeFileSync(`${directory}/layer.json`, JSON.stringify(facts));
        await host.inStore(holder, `mv ${draft} l/${id}`, 'create_failed', 10_000);
        return { id, sizeBytes };
      } catch (error) {
        await host.inStore(holder, `rm -rf --one-file-system ${draft}`, 'create_failed', 300_000);
        throw error;
      }
    },
    async list(): Promise<LayerInfo[]> {
      const holder = await host.up();
      return host.store.list(holder, 'l').flatMap((id) => {
        const facts = id.startsWith('.') ? undefined : host.layerFacts(holder, id);
        return facts === undefined ? [] : [{ id, sizeBytes: facts.sizeBytes }];
      });
    },
    async delete(id: string): Promise<void> {
      requireLayerId(id);
      const holder = await host.up();
      if (host.layerFacts(holder, id) === undefined)
        throw new DriverError('not_found', 'There is no such layer.');
      if (await inUse(id)) throw new DriverError('busy', 'The layer is in use.');
      await host.inStore(
        holder,
        `mv l/${id} l/.${id}\n${host.store.remove(`l/.${id}`)}`,
        'create_failed',
        300_000,
      );
    },
  };
}

/** Existence by name alone: a link of the archive must not be followed on the host. */
function present(root: string, path: string): boolean {
  try {
    return lstatChain(root, path);
  } catch {
    return false;
  }
}

function lstatChain(root: string, path: string): boolean {
  const parts = path.split('/');
  let here = root;
  for (const [index, part] of parts.entries()) {
    here = `${here}/${part}`;
    const stats = lstatSync(here);
    if (index < parts.length - 1 && !stats.isDirectory()) return false;
  }
  return true;
}

/** Extracts with owners and modes kept, device nodes left out; tar refuses names that lead out of the directory. */
async function extract(tar: Readable, directory: string, signal: AbortSignal | undefined): Promise<void> {
  const child = spawn(
    'tar',
    [
      '-x',
      '--numeric-owner',
      '-p',
      '--xattrs',
      '--xattrs-include=user.*',
      '--exclude=dev/*',
      '--exclude=./dev/*',
      '-C',
      directory,
      '-f',
      '-',
    ],
    { stdio: ['pipe', 'ignore', 'pipe'], env: { PATH: TOOL_PATH, LC_ALL: 'C' } },
  );
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < 4000) stderr += text;
  });
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const feed = pipeline(tar, child.stdin, ...(signal === undefined ? [] : [{ signal }])).catch(
    (error: unknown) => error,
  );
  const failure = await feed;
  if (failure !== undefined) child.kill('SIGKILL');
  const code = await closed;
  signal?.throwIfAborted();
  if (code === 0 && failure === undefined) return;
  if (/No space left|Disk quota/.test(stderr))
    throw new DriverError('storage_full', 'The storage of the sandboxes is full.');
  throw new DriverError('invalid_archive', 'The archive cannot be read as tar.', {
    detail: stderr.trim(),
    cause: failure,
  });
}
