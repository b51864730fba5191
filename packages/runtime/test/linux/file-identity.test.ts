import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import type { BaseRoot } from '../../src/contract/capabilities.js';
import { baseDirectory, baseRecipe, findBase } from '../../src/host/base-root.js';
import { createLinuxDriver } from '../../src/linux-driver/create-linux-driver.js';
import { NamespaceKeeper } from '../../src/linux-driver/namespace/namespace-keeper.js';
import { pathsOf } from '../../src/linux-driver/state/paths.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { tarOf } from '../../src/testing/tar.js';
import { type MadeInstance, Workbench } from '../../src/testing/workbench.js';
import { envdProgram } from '../support/envd-program.js';
import { linuxBench } from '../support/linux-bench.js';
import { linuxSkipReason, memorySkipReason } from '../support/linux-host.js';

const skip = linuxSkipReason();
const noMemory = memorySkipReason();
const baseIsBuilt = findBase(baseDirectory({}), await baseRecipe())?.upToDate === true;

/** More files than the skeleton of the template `host` has, so that numbers that begin at one place would meet. */
const FILES = 300;
const write = (directory: string) =>
  `mkdir -p ${directory}; for i in $(seq ${FILES}); do echo "${directory} $i" >${directory}/$i; done`;

/** Names of different files with the same two numbers, of which hard links are no example. */
const DUPLICATES = `find / /usr/local /usr/mine -xdev -printf '%D:%i %n %y %p\\n' 2>/dev/null |
  awk '$2 == 1 || $3 == "d" { if ($1 in seen && seen[$1] != $4) print seen[$1], $4; seen[$1] = $4 }' | head -n 20`;

/**
 * Maps files of the layers and of the writable part side by side, those of equal number first, and reports on request whether they
 * still hold what they held at first.
 */
const MAPPER = `
import mmap, os, sys, time
own, below = {}, []
for d, _, names in os.walk(sys.argv[1]):
  for n in names: own[os.stat(os.path.join(d, n)).st_ino] = os.path.join(d, n)
for top in sys.argv[2:]:
  for d, _, names in os.walk(top):
    for n in names:
      p = os.path.join(d, n)
      if os.path.isfile(p) and not os.path.islink(p) and os.access(p, os.R_OK) and os.path.getsize(p) > 0: below.append(p)
pairs = [(p, own.get(os.stat(p).st_ino)) for p in below]
paths = [q for p in sorted(pairs, key=lambda p: p[1] is None) for q in p if q] + list(own.values())
maps, texts = [], []
for p in paths[:2000]:
  with open(p) as f: maps.append(mmap.mmap(f.fileno(), 1, mmap.MAP_PRIVATE, mmap.PROT_READ))
  texts.append(bytes(maps[-1]))
for n in range(1000):
  open("/tmp/new", "w").write("%d %d\\n" % (n, sum(bytes(m) != t for m, t in zip(maps, texts))))
  os.rename("/tmp/new", "/tmp/told")
  time.sleep(0.1)
`;

/** Maps the first files of two volumes, side by side or with other memory between them. */
const VOLUMES_MAPPER = `
import mmap, os, sys, time
kept = []
def page(path):
  with open(path) as f: kept.append(mmap.mmap(f.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ))
  return kept[-1]
one = page("/one/file")
if sys.argv[1] == "separate": page("/etc/passwd")
two = page("/two/file")
for n in range(1000):
  open("/tmp/new", "w").write("%d %s %s\\n" % (n, one[:3].decode(), two[:3].decode()))
  os.rename("/tmp/new", "/tmp/told")
  time.sleep(0.1)
`;

/** The output of a program that continues in a copy of its sandbox. */
async function outputOfCopy(client: DaemonClient, copy: () => Promise<DaemonClient>): Promise<string> {
  const outputOf = async (of: DaemonClient) => (await of.run('cat /tmp/told')).stdout;
  const before = await outputOf(client);
  const there = await copy();
  return await eventually('the copy to look at its files', async () => {
    const text = await outputOf(there);
    return Number.parseInt(text, 10) <= Number.parseInt(before, 10) + 1 ? undefined : text;
  });
}

const mapped = (client: DaemonClient) =>
  eventually('the files to be mapped', async () => (await client.run('test -s /tmp/told')).exitCode === 0);

describe.skipIf(skip !== undefined).each<{ base: BaseRoot; absent: boolean }>([
  { base: 'host', absent: false },
  { base: 'debian', absent: !baseIsBuilt },
])('files of a sandbox on $base', ({ base, absent }) => {
  const bench = linuxBench({ baseRoot: base });

  /** A sandbox on two archives, and on a layer that another sandbox wrote on them. */
  async function onLayers(): Promise<MadeInstance> {
    const layers: string[] = [];
    for (const name of ['first', 'other']) {
      const texts = Array.from({ length: FILES }, (_, index) => [`opt/${name}/${index}`, `${name} ${index}`]);
      layers.push((await bench.driver.layers.importTar(tarOf(Object.fromEntries(texts)))).id);
    }
    const builder = await bench.create({ layers });
    await builder.client.run(`${write('/opt/second')}; rm /opt/first/7`, 'root');
    const { id } = await builder.instance.commitLayer();
    await builder.instance.destroy();
    return await bench.create({ layers: [...layers, id] });
  }

  const stacks = [
    { title: 'without layers', make: () => bench.create() },
    { title: 'with layers', make: onLayers },
    // Files written without layers lie on one file system alone there, and the base on another.
  ].slice(base === 'debian' ? 1 : 0);

  it.skipIf(absent).each(stacks)('$title have numbers of their own', async ({ make }) => {
    const { client } = await make();
    await client.run(`${write('/opt/mine')}; ${write('/usr/mine')}`, 'root');
    expect((await client.run(DUPLICATES, 'root')).stdout).toBe('');
    // Tools refuse to copy a file to itself when the numbers are equal.
    const copy = `for i in $(seq 1 10 ${FILES}); do cp /opt/mine/$i /etc/debian_version && mv /opt/mine/$i /etc/profile || exit; done`;
    expect((await client.run(copy, 'root')).stderr).toBe('');
    expect((await client.run('test -e /opt/first/7')).exitCode).toBe(1);
  });

  it.skipIf(absent || base === 'debian')(
    'have numbers of their own in copies of their sandbox too',
    async () => {
      const { instance } = await onLayers();
      await instance.checkpoint({ checkpointId: 'files', memory: false, then: 'destroy' });
      const copy = await bench.restore('files', false);
      await copy.client.run(`${write('/opt/mine')}; ${write('/usr/mine')}`, 'root');
      expect((await copy.client.run(DUPLICATES, 'root')).stdout).toBe('');
    },
  );

  it.skipIf(absent || noMemory !== undefined).each(stacks)(
    '$title stay mapped by programs that are copied with their memory',
    async ({ make }) => {
      const { instance, client } = await make();
      await client.run(`${write('/home/user/mine')}; mkfifo /tmp/pipe`);
      await client.start(`exec 3<>/tmp/pipe; exec python3 -c '${MAPPER}' /home/user/mine /etc /opt`);
      await mapped(client);
      await instance.checkpoint({ checkpointId: 'mapped', memory: true, then: 'continue' });
      const output = await outputOfCopy(client, async () => (await bench.restore('mapped', true)).client);
      expect(output).toMatch(/^\d+ 0$/m);
    },
  );
});

describe.skipIf(noMemory !== undefined)('a checkpoint of an earlier version', () => {
  const bench = linuxBench({ baseRoot: 'host' });

  it('continues with its memory, and its files get numbers of their own', async () => {
    const paths = pathsOf(bench.dataDir);
    const store = NamespaceKeeper.find(paths)!.view(paths.store);
    renameSync(join(store, 'empty'), join(store, 'aside'));
    const { instance, client } = await bench.create();
    renameSync(join(store, 'aside'), join(store, 'empty'));
    await client.run(
      `${write('/opt/mine')}; ln /opt/mine/1 /opt/link; rm -r /opt/mine/2 /etc/shells /usr/games`,
      'root',
    );
    expect((await client.run(DUPLICATES, 'root')).stdout).not.toBe('');
    await client.start('exec 3</opt/mine/3; rm -f /tmp/told; while sleep 0.1; do cat <&3 >>/tmp/told; done');
    await mapped(client);
    await instance.checkpoint({ checkpointId: 'old', memory: true, then: 'destroy' });
    const record = join(store, 'c/old/record.json');
    const { numbered, ...earlier } = JSON.parse(readFileSync(record, 'utf8')) as { numbered: boolean };
    expect(numbered).toBe(true);
    writeFileSync(record, JSON.stringify(earlier));
    const copy = await bench.restore('old', true);
    await copy.client.run(write('/opt/more'), 'root');
    expect((await copy.client.run(DUPLICATES, 'root')).stdout).toBe('');
    expect(
      await copy.client.output(
        'stat -c "%h %U" /opt/link; cat /opt/mine/300; ls /opt/mine/2 /etc/shells /usr/games 2>&1 | grep -c No',
      ),
    ).toBe('2 root\n/opt/mine 300\n3');
    await copy.client.run('echo more >>/opt/mine/3', 'root');
    await eventually('the program to read on', async () =>
      (await copy.client.output('cat /tmp/told')).endsWith('more'),
    );
  });
});

describe.skipIf(noMemory !== undefined)('files of two volumes with the same number', () => {
  const bench = linuxBench({ baseRoot: 'host' });
  const mounts = [
    { volumeId: 'one', target: '/one' },
    { volumeId: 'two', target: '/two' },
  ];

  async function start(how: 'separate' | 'beside') {
    for (const { volumeId } of mounts) await bench.driver.volumes.make(volumeId, { limitMiB: 32 });
    const { instance, client } = await bench.create({ mounts });
    await client.run('echo one >/one/file; echo two >/two/file', 'root');
    await client.start(`exec python3 -c '${VOLUMES_MAPPER}' ${how}`);
    await mapped(client);
    return { instance, client };
  }

  it('stay what they are in a copy with memory', async () => {
    const { instance, client } = await start('separate');
    await instance.checkpoint({ checkpointId: 'separate', memory: true, then: 'continue' });
    const output = await outputOfCopy(client, async () => {
      const spec = bench.spec({ mounts });
      return new DaemonClient(
        await bench.driver.restore({ id: 'copy', checkpointId: 'separate', memory: true, spec }),
      );
    });
    expect(output).toMatch(/^\d+ one two$/m);
  });

  it('are not mixed up where they are mapped side by side: the program is named instead', async () => {
    const { instance, client } = await start('beside');
    const made = instance.checkpoint({ checkpointId: 'beside', memory: true, then: 'continue' });
    await expect(made).rejects.toThrow(
      /"python3" \(process \d+\) has two files mapped side by side .* \/(one|two)\/file and \/(one|two)\/file/,
    );
    expect(await client.output('echo alive')).toBe('alive');
  });
});

describe.skipIf(skip !== undefined)('a data directory on the btrfs of the host', () => {
  let folder: string;
  let host: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'btrfs-host-'));
    host = join(folder, 'fs');
    const make = 'truncate -s 1G "$1"; mkfs.btrfs -q "$1"; mkdir "$2"; mount -o loop "$1" "$2"';
    execFileSync('sh', ['-ec', make, 'sh', join(folder, 'image'), host]);
  });
  afterAll(() => {
    if (existsSync(host)) execFileSync('umount', [host]);
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    { title: 'holds the store itself where sandboxes stand on another file system', image: false },
    { title: 'gets a file system of its own where sandboxes stand on the same one', image: true },
  ])('$title', async ({ image }) => {
    const baseDirectory = join(image ? host : folder, 'bases');
    mkdirSync(baseDirectory);
    const bench = new Workbench(
      ({ dataDir }) =>
        createLinuxDriver({
          dataDir,
          daemon: envdProgram,
          baseDirectory,
          storeSizeMiB: 512,
          baseRoot: 'host',
        }),
      host,
    );
    await bench.open();
    try {
      expect(existsSync(pathsOf(bench.dataDir).storeImage)).toBe(image);
      expect(await (await bench.create()).client.output('echo made')).toBe('made');
    } finally {
      await bench.close();
      await bench.remove();
    }
  });
});
