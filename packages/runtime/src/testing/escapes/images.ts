import { describe, expect, it } from 'vitest';
import { DriverError } from '../../contract/errors.js';
import { type TarTestEntry, tarOfEntries } from '../tar.js';
import type { Workbench } from '../workbench.js';
import { type Outside, SECRET } from './outside.js';
import { smallRootFileSystem } from './root-file-system.js';

/** Names at the top of a root file system that drivers, runtimes and daemons look things up below. */
const TOP_NAMES = [
  'usr',
  'etc',
  'proc',
  'sys',
  'dev',
  '.sbx',
  'run',
  'tmp',
  'home',
  'root',
  'var',
  'bin',
  'lib',
];

/** Names below them that are looked up, written or mounted on. */
const INNER_NAMES = [
  'etc/hosts',
  'etc/hostname',
  'etc/resolv.conf',
  'etc/passwd',
  'dev/pts',
  'dev/shm',
  'dev/null',
  'home/user',
  'usr/bin',
  'usr/lib',
  'usr/local',
];

/** Images and layers that name something outside of themselves. */
export function imageEscapes(bench: Workbench, outside: Outside): void {
  const rootfs = () => bench.driver.capabilities.layers === 'rootfs';

  /** Makes an instance of the layers if the driver takes them, and looks for the secret with it. */
  async function attack(layers: TarTestEntry[][]): Promise<void> {
    try {
      const ids: string[] = [];
      for (const entries of layers) ids.push((await bench.driver.layers.importTar(tarOfEntries(entries))).id);
      const { client } = await bench.create({ layers: ids });
      const seen = await client.run(
        'find / -xdev -name secret 2>/dev/null; cat /secret /*/secret /*/*/secret /*/*/*/secret 2>/dev/null; cat /etc/passwd /etc/hosts',
        'root',
      );
      expect(`${seen.stdout}${seen.stderr}`).not.toContain(SECRET);
      expect(seen.stdout).not.toMatch(/secret$/m);
    } catch (error) {
      // To refuse such an image is as good as to keep it harmless.
      if (!DriverError.is(error) && !/^Process.Start/.test(String((error as Error).message))) throw error;
    }
  }

  describe('an image', () => {
    it.each([...TOP_NAMES, ...INNER_NAMES])('with a link out of it at %s reaches nothing', async (name) => {
      if (!rootfs()) return;
      const path = await outside.make();
      const link: TarTestEntry = { name, type: 'symlink', linkname: path };
      await attack([[link]]);
      await attack([[...smallRootFileSystem().filter((entry) => !entry.name.startsWith(name)), link]]);
      await outside.expectUntouched();
    });

    it('that is harmless runs', async () => {
      if (!rootfs()) return;
      const { id } = await bench.driver.layers.importTar(tarOfEntries(smallRootFileSystem()));
      const { client } = await bench.create({ layers: [id] });
      expect(await client.output('cat /etc/passwd')).toContain('/home/user');
    });

    it.each(['usr', 'proc'])('with a roundabout link out of it at %s reaches nothing', async (name) => {
      if (!rootfs()) return;
      const path = await outside.make();
      const linknames = [
        `${'../'.repeat(12)}${path}`,
        '/proc/1/root',
        `/proc/self/root${path}`,
        'usr/../../..',
      ];
      for (const linkname of linknames) await attack([[{ name, type: 'symlink', linkname }]]);
      await outside.expectUntouched();
    });

    it('with a link in a lower layer and files behind it in an upper one reaches nothing', async () => {
      if (!rootfs()) return;
      const path = await outside.make();
      const link: TarTestEntry = { name: 'usr', type: 'symlink', linkname: path };
      const behind = { name: 'usr/planted', content: 'planted' };
      await attack([[link], [behind]]);
      await attack([[link, behind]]);
      await attack([[behind, link]]);
      await attack([[...smallRootFileSystem(), link], [behind]]);
      await outside.expectUntouched();
    });

    it('with names and hard links that lead out of it reaches nothing', async () => {
      if (!rootfs()) return;
      const path = await outside.make();
      const up = '../'.repeat(20);
      const names = [`${up}${path}/planted`, `${path}/planted`, `a/../../..${path}/planted`];
      for (const name of names) await attack([[{ name, content: 'planted' }]]);
      for (const linkname of [`${path}/secret`, `${up}${path.slice(1)}/secret`])
        await attack([[{ name: 'stolen', type: 'link', linkname }]]);
      await attack([
        [
          { name: 'door', type: 'symlink', linkname: path },
          { name: 'door/secret', content: 'overwritten' },
          { name: 'stolen', type: 'link', linkname: 'door/secret' },
          { name: 'step', type: 'symlink', linkname: '.' },
          { name: 'step/step', type: 'symlink', linkname: up },
          { name: `step/step/${path}/planted`, content: 'planted' },
        ],
      ]);
      await outside.expectUntouched();
    });
  });
}
