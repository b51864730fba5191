import { mkdir, mkdtemp, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sandbox } from '@svc/sdk';
import { describeOnServer } from '@svc/support/testing/on-server';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { syncDirectory } from '../../src/index.js';

describe.runIf(process.env.SVC_HEAVY === '1')('with SVC_HEAVY=1', () => {
  describeOnServer('syncDirectory at size', (fixture) => {
    let sandbox: Sandbox;
    let local: string;
    beforeAll(async () => {
      sandbox = await fixture.client().sandboxes.create({ timeoutMs: 1_800_000 });
    });
    afterAll(() => sandbox?.kill());
    beforeEach(async () => {
      local = await mkdtemp(join(tmpdir(), 'svc-sync-heavy-'));
    });
    afterEach(() => rm(local, { recursive: true, force: true }));

    const timed = async (what: string, remote: string) => {
      const startedMs = performance.now();
      await syncDirectory(sandbox, { local, remote, watch: false });
      console.log(`${what}: ${Math.round(performance.now() - startedMs)} ms`);
    };

    it('carries 5000 small files over, both ways', { timeout: 600_000 }, async () => {
      for (let directory = 0; directory < 100; directory += 1) {
        await mkdir(join(local, `d${directory}`));
        for (let file = 0; file < 50; file += 1)
          await writeFile(join(local, `d${directory}/f${file}`), `${directory} ${file} `.repeat(50));
      }
      await timed('5000 files to the sandbox', 'many');
      expect((await sandbox.commands.run('find many -type f | wc -l')).stdout).toBe('5000\n');
      await rm(local, { recursive: true });
      await timed('5000 files from the sandbox', 'many');
      expect((await readdir(local, { recursive: true })).length).toBe(5_100);
    });

    it('carries a file of 300 MB over, both ways, and holds no more than a part of it', {
      timeout: 600_000,
    }, async () => {
      const piece = Buffer.alloc(1_000_000);
      const file = await open(join(local, 'large'), 'w');
      for (let index = 0; index < 300; index += 1) await file.write(piece.fill(index));
      await file.close();
      let highest = 0;
      const before = process.memoryUsage().rss;
      const timer = setInterval(() => {
        highest = Math.max(highest, process.memoryUsage().rss);
      }, 10);
      try {
        await timed('300 MB to the sandbox', 'large');
        await rm(join(local, 'large'));
        await timed('300 MB from the sandbox', 'large');
      } finally {
        clearInterval(timer);
      }
      expect((await stat(join(local, 'large'))).size).toBe(300_000_000);
      const grownMiB = Math.round((highest - before) / 1024 ** 2);
      console.log(`memory of client and server grew by ${grownMiB} MiB`);
      expect(grownMiB).toBeLessThan(150);
    });
  });
});
