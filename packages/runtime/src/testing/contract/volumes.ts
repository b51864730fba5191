import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { VolumeError } from '../../contract/volumes.js';
import type { Workbench } from '../workbench.js';

export function volumeContract(bench: Workbench): void {
  describe('volumes', () => {
    it('keep files with their owners and modes, and lose them with their end', async () => {
      const { volumes } = bench.driver;
      await volumes.make('kept', { limitMiB: 64 });
      await volumes.make('kept', { limitMiB: 64 });
      const content = volumes.content('kept');
      const written = await content.write('/a/b.txt', Readable.from(['one ', 'two']), {
        force: true,
        mode: 0o600,
      });
      expect(written).toMatchObject({ name: 'b.txt', path: '/a/b.txt', size: 7, mode: 0o600, type: 'file' });
      const read = await content.read('/a/b.txt');
      expect([read.sizeBytes, await text(read.content)]).toEqual([7, 'one two']);
      await content.change('/a/b.txt', { mode: 0o644 });
      await content.makeDirectory('/c', {});
      expect((await content.list('/', 2)).map(({ path, mode }) => [path, mode])).toEqual([
        ['/a', 0o755],
        ['/a/b.txt', 0o644],
        ['/c', 0o755],
      ]);
      await content.remove('/a');
      expect(await codeOf(content.stat('/a/b.txt'))).toBe('path_not_found');
      expect(await volumes.list()).toEqual(['kept']);
      await volumes.delete('kept');
      await volumes.delete('kept');
      expect(await volumes.list()).toEqual([]);
      expect((await volumes.usedBytes('kept')) ?? 0).toBe(0);
    });

    it('say what is wrong with a path', async () => {
      const { volumes } = bench.driver;
      await volumes.make('other');
      const content = volumes.content('other');
      await content.write('/file', Readable.from(['x']), {});
      expect(await codeOf(content.write('/file', Readable.from(['y']), {}))).toBe('path_already_exists');
      expect(await codeOf(content.read('/missing'))).toBe('path_not_found');
      expect(await codeOf(content.read('/'))).toBe('is_a_directory');
      expect(await codeOf(content.stat('/file/below'))).toBe('not_a_directory');
      expect(await codeOf(content.remove('/'))).toBe('cannot_delete_root');
      expect(await codeOf(content.list('/', 11))).toBe('depth_out_of_range');
      await volumes.delete('other');
    });

    it('carry large files in both directions', async () => {
      const { volumes } = bench.driver;
      await volumes.make('large');
      const content = volumes.content('large');
      const piece = Buffer.alloc(2 ** 20, 'x');
      await content.write('/file', Readable.from(Array(20).fill(piece)), {});
      const read = await content.read('/file');
      expect(read.sizeBytes).toBe(20 * 2 ** 20);
      let bytes = 0;
      for await (const chunk of read.content) bytes += (chunk as Buffer).length;
      expect(bytes).toBe(read.sizeBytes);
      // A reader that stops blocks nothing.
      (await content.read('/file')).content.destroy();
      await volumes.delete('large');
    });
  });
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    if (VolumeError.is(error)) return error.code;
    throw error;
  }
}
