import { spawn } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { saysDiskFull } from '#support/disk-full';
import { ArchiveError } from '../../archive/archive-limits.js';
import { guardTar } from '../../archive/tar-guard.js';
import type { ImportOptions, Layers } from '../../contract/driver.js';
import { DriverError } from '../../contract/errors.js';
import type { LayerInfo } from '../../contract/instance.js';
import { jailCommand } from '../../jail/jail-task.js';
import { isBaseName } from '../../shared/base-name.js';
import { randomId, requireLayerId } from '../../shared/instance-id.js';
import { SCRIPT_ENVIRONMENT } from '../../shared/script-environment.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import { isDirectory, isThere } from '../rootfs/inside-layer.js';
import { readLayerFacts } from '../rootfs/layer-facts.js';
import type { InstanceEntry } from '../state/records.js';
import { storeIsFull } from '../store/storage-full.js';
import type { Store } from '../store/store.js';

/** Layers in the store. @param inUse whether an instance or checkpoint stands on a layer. */
export function linuxLayers(host: LinuxHost, inUse: (id: string) => Promise<boolean> | boolean): Layers {
  const { store } = host;
  return {
    async importTar(tar: Readable, options: ImportOptions = {}): Promise<LayerInfo> {
      const keeper = await host.up();
      await host.space.require();
      const id = randomId();
      const draft = `l/.${id}`;
      const directory = store.view(draft);
      try {
        await store.run({ name: 'layer_begin', arguments: [draft] }, { timeoutMs: 60_000 });
        await extract(keeper, `${host.paths.store}/${draft}`, tar, options);
        const full = ['bin/sh', 'usr/bin/sh', 'etc/os-release', 'usr/lib/os-release'].some((path) =>
          isThere(`${directory}/root`, path),
        );
        const { bytes } = await store.run(
          { name: 'layer_of_archive', arguments: [draft, ...store.removeEntries(draft, ['root/.sbx'])] },
          { timeoutMs: 300_000 },
        );
        const base = full ? undefined : host.bases.current;
        return await keepLayer(store, { id, full, sizeBytes: Number(bytes), base });
      } catch (error) {
        await store.remove(draft);
        throw error;
      }
    },
    async list(): Promise<LayerInfo[]> {
      await host.up();
      return store.list('l').flatMap((id) => {
        const facts = id.startsWith('.') ? undefined : readLayerFacts(store, id);
        return facts === undefined ? [] : [{ id, sizeBytes: facts.sizeBytes }];
      });
    },
    async delete(id: string): Promise<void> {
      requireLayerId(id);
      await host.up();
      if (readLayerFacts(store, id) === undefined)
        throw new DriverError('not_found', 'There is no such layer.');
      if (await inUse(id)) throw new DriverError('busy', 'The layer is in use.');
      renameSync(store.view(`l/${id}`), store.view(`l/.${id}`));
      await store.remove(`l/.${id}`);
    },
  };
}

/** Extracts with owners and modes kept, devices left out, in a process that sees nothing but the draft. */
async function extract(
  keeper: NamespaceKeeper,
  draft: string,
  tar: Readable,
  { limits, signal }: ImportOptions,
): Promise<void> {
  const [file, ...args] = keeper.enter(jailCommand(draft, { kind: 'extract', into: 'root' }));
  const child = spawn(file!, args, { stdio: ['pipe', 'ignore', 'pipe'], env: SCRIPT_ENVIRONMENT });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < 4000) stderr += text;
  });
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const guarded = Readable.from(guardTar(tar, { limits }), { objectMode: false });
  const feed = pipeline(guarded, child.stdin, ...(signal === undefined ? [] : [{ signal }])).catch(
    (error: unknown) => error,
  );
  const failure = await feed;
  if (failure !== undefined) child.kill('SIGKILL');
  const code = await closed;
  signal?.throwIfAborted();
  if (code === 0 && failure === undefined) return;
  if (saysDiskFull(stderr)) throw storeIsFull();
  const why = ArchiveError.is(failure) ? failure.message : 'it cannot be read as tar';
  throw new DriverError('invalid_archive', `The archive is refused: ${why}.`, {
    detail: stderr.trim(),
    cause: failure,
  });
}

/** Makes the draft of a layer visible under its id, with what is known of it and the empty part for what will stand on it. */
export async function keepLayer(
  store: Store,
  { id, full, sizeBytes, base }: { id: string; full: boolean; sizeBytes: number; base: string | undefined },
): Promise<LayerInfo> {
  const path = `l/.${id}`;
  await store.run(
    { name: 'writable_of_layer', arguments: [path, ...store.removeEntries(`${path}/sv`, ['root'])] },
    { timeoutMs: 300_000 },
  );
  const draft = store.view(path);
  const facts = { full, base, hasUsr: isDirectory(`${draft}/root/usr`), sizeBytes };
  writeFileSync(`${draft}/layer.json`, JSON.stringify(facts));
  renameSync(draft, store.view(`l/${id}`));
  return { id, sizeBytes };
}

/** Stores what an instance wrote as a layer. The instance is frozen only while the copy is taken. */
export async function commitInstance(host: LinuxHost, entry: InstanceEntry): Promise<LayerInfo> {
  const { store } = host;
  await host.up();
  await host.space.require();
  const id = randomId();
  const draft = `l/.${id}`;
  const wasFrozen = host.cgroups.frozen(entry.name);
  if (!wasFrozen) await host.cgroups.freeze(entry.name);
  try {
    await store.copy(`i/${entry.name}/sv`, draft);
  } finally {
    if (!wasFrozen) host.cgroups.thaw(entry.name);
  }
  const { bytes } = await store.run(
    {
      name: 'layer_of_instance',
      arguments: [draft, ...store.removeEntries(draft, ['w', 'uw', 'u/.sbx'])],
    },
    { timeoutMs: 300_000 },
  );
  const base = entry.layers.find(isBaseName);
  return await keepLayer(store, { id, full: false, sizeBytes: Number(bytes), base });
}
