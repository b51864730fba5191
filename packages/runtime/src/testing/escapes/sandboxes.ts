import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DriverError } from '../../contract/errors.js';
import { type TarTestEntry, tarOfEntries } from '../tar.js';
import type { Workbench } from '../workbench.js';
import { type Outside, SECRET } from './outside.js';
import { smallRootFileSystem } from './root-file-system.js';

/** Swaps a directory for a link to the outside and back, as root inside and as long as it lives. */
const swapEtc = (target: string) =>
  `perl -e 'symlink "${target}", "/link"; fork and exit; for (;;) { rename "/etc", "/real"; rename "/link", "/etc"; rename "/etc", "/link"; rename "/real", "/etc" }' </dev/null >/dev/null 2>&1`;

/** Attacks on the driver by root in a running sandbox, or by files that it left. */
export function sandboxEscapes(bench: Workbench, outside: Outside): void {
  const importLayer = async (entries: TarTestEntry[]) =>
    (await bench.driver.layers.importTar(tarOfEntries(entries))).id;

  /** Runs a task that may end in a refusal. */
  async function orRefused(task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      if (!DriverError.is(error) && !/^Process.Start/.test(String((error as Error).message))) throw error;
    }
  }

  describe('a sandbox', () => {
    it('gets no device node of an image', async () => {
      if (bench.driver.capabilities.layers !== 'rootfs') return;
      const id = await importLayer([
        { name: 'memory', type: 'character', device: { major: 1, minor: 1 }, mode: 0o666 },
        { name: 'etc/hosts', type: 'block', device: { major: 254, minor: 0 }, mode: 0o666 },
        { name: 'etc/hostname', type: 'fifo', mode: 0o666 },
        { name: 'zero', type: 'character', device: { major: 1, minor: 5 }, mode: 0o666 },
        { name: 'plain', content: 'plain' },
      ]);
      const { client } = await bench.create({ layers: [id] });
      const found = await client.run(
        'find / -xdev \\( -type b -o -type c -o -type p \\) -not -path "/dev/*"',
        'root',
      );
      expect(found.stdout).toBe('');
      expect(await client.output('cat /plain; grep " / / " /proc/self/mountinfo')).toMatch(
        /^plain.*\bnodev\b/s,
      );
    });

    it('gains nothing from set-uid programs in volumes', async () => {
      const { layers, mounts } = bench.driver.capabilities;
      if (layers !== 'rootfs' || !mounts) return;
      const source = join(await outside.make(), 'volume');
      const shell = smallRootFileSystem().find((entry) => entry.name === 'bin/sh')!;
      const id = await importLayer([{ ...shell, name: 'rootsh', mode: 0o6755, uid: 0 }]);
      const { client } = await bench.create({ layers: [id], mounts: [{ source, target: '/data' }] });
      await client.run('cp /rootsh /data/rootsh; chown 0:0 /data/rootsh; chmod 6755 /data/rootsh', 'root');
      // In the image it may make root of the sandbox, who is nobody outside; a volume is seen by others too.
      expect((await client.run(`/data/rootsh -p -c 'id -u'`)).stdout.trim()).toBe('1000');
      expect(await client.output('grep " /data " /proc/self/mountinfo')).toMatch(/nosuid,nodev/);
      expect((await client.run('mknod /data/disk b 254 0', 'root')).exitCode).not.toBe(0);
    });

    it('finds nothing of the host behind the roots of its processes', async () => {
      const path = await outside.make();
      const { client } = await bench.create();
      const tricks = [
        '/proc/1/root',
        '/proc/self/root',
        '/proc/1/cwd',
        '/proc/self/root/../../..',
        '/proc/1/task/1/root',
      ];
      for (const trick of tricks)
        expect((await client.run(`cat ${trick}${path}/secret`, 'root')).stdout).not.toContain(SECRET);
      const roots = await client.run(
        `for r in /proc/[0-9]*/root /proc/[0-9]*/fd/*; do cat "$r${path}/secret"; done`,
        'root',
      );
      expect(roots.stdout).not.toContain(SECRET);
    });

    it('leads no mount out of its image, wherever the links of the image lead', async () => {
      const { layers, mounts } = bench.driver.capabilities;
      if (layers !== 'rootfs' || !mounts) return;
      const path = await outside.make();
      const source = join(path, 'volume');
      const id = await importLayer([
        { name: 'data', type: 'symlink', linkname: path },
        { name: 'deep', type: 'directory', mode: 0o755 },
        { name: 'deep/er', type: 'symlink', linkname: `${'../'.repeat(12)}${path}` },
      ]);
      for (const target of ['/data', '/data/new', '/deep/er/new', '/data/home', '/data/../data/secret'])
        await orRefused(async () => {
          await bench.create({ layers: [id], mounts: [{ source, target }] });
        });
      await outside.expectUntouched();
    });

    it('that replaced its directories by links leaves a layer and a checkpoint that reach nothing', async () => {
      if (bench.driver.capabilities.layers !== 'rootfs') return;
      const path = await outside.make();
      const base = await importLayer(smallRootFileSystem());
      // The small image has no ln; perl and the like are not there either.
      const links = await importLayer([
        { name: 'usr', type: 'symlink', linkname: path },
        { name: 'etc', type: 'symlink', linkname: path },
      ]);
      const look = async (made: Awaited<ReturnType<Workbench['create']>>) => {
        const seen = await made.client.run('cat /usr/secret /etc/secret /etc/hosts /etc/passwd', 'root');
        expect(seen.stdout).not.toContain(SECRET);
      };
      for (const layers of [[base, links], [links]])
        await orRefused(async () => {
          const made = await bench.create({ layers });
          await look(made);
          const { id } = await made.instance.commitLayer();
          await orRefused(async () => look(await bench.create({ layers: [id] })));
          await orRefused(async () => look(await bench.create({ layers: [...layers, id] })));
          const checkpointId = `linked${layers.length}`;
          await made.instance.checkpoint({ checkpointId, memory: false, then: 'destroy' });
          await look(await bench.restore(checkpointId, false));
        });
      const { instance, client } = await bench.create();
      await client.run(`mv /etc /old; ln -s ${path} /etc; ln -s ${path} /srv/link`, 'root');
      const committed = await instance.commitLayer();
      await orRefused(async () => look(await bench.create({ layers: [committed.id] })));
      await instance.checkpoint({ checkpointId: 'linked', memory: false, then: 'destroy' });
      await orRefused(async () => look(await bench.restore('linked', false)));
      await outside.expectUntouched();
    });

    it('that swaps /etc for a link gets no file of the host renamed or written when it is restored', async () => {
      if (!bench.driver.capabilities.memorySnapshot) return;
      const path = await outside.make();
      const { instance, client } = await bench.create();
      await client.run(swapEtc(path), 'root');
      await instance.checkpoint({ checkpointId: 'swapping', memory: true, then: 'destroy' });
      for (let round = 0; round < 5; round += 1)
        await orRefused(async () => {
          await (await bench.restore('swapping', true)).instance.destroy();
        });
      await outside.expectUntouched();
    });

    it('that swaps directories of a volume for links takes nothing along when it ends', async () => {
      if (!bench.driver.capabilities.mounts) return;
      const path = await outside.make();
      const source = join(path, 'volume', 'mounted');
      await mkdir(source, { mode: 0o777 });
      await outside.remember();
      const { instance, client } = await bench.create({ mounts: [{ source, target: '/data' }] });
      const linked = await client.run(`ln -s ${path} /home/user/link && ln -s / /home/user/root`, 'user');
      expect(linked.exitCode).toBe(0);
      await instance.destroy();
      await bench.driver.reap({ instanceIds: [], checkpointIds: [] });
      await outside.expectUntouched();
    });
  });
}
