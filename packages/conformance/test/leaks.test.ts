import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startServer } from '@svc/server';
import { eventually } from '@svc/support/eventually';
import { expect, test } from 'vitest';
import { embeddedOptions } from '../src/embedded-options.js';
import { difference, takeSnapshot } from '../src/leaks/snapshot.js';
import { linuxLacks } from '../src/linux-host.js';
import { assertStatus, call } from '../src/wire/call.js';
import { run } from '../src/wire/run.js';
import { closeConnections } from '../src/wire/send.js';

const cycles = Number(process.env.SVC_LEAK_CYCLES ?? 12);
const AT_ONCE = 4;
const lacks = await linuxLacks();

for (const driver of ['process', 'linux'] as const)
  test(
    `${cycles} sandboxes made and killed on ${driver} leave the machine as it was`,
    async (context) => {
      if (driver === 'linux' && lacks !== undefined) context.skip(lacks);
      const dataDir = await mkdtemp(path.join(tmpdir(), `svc-leaks-${driver}-`));
      const before = takeSnapshot(dataDir);
      const server = await startServer({ ...embeddedOptions(dataDir, driver), poolSize: 0 });
      try {
        const cycle = async (index: number) => {
          const answer = await call(server, 'createSandboxV2', {
            body: { templateID: 'base', timeout: 300 },
          });
          const made = assertStatus<{ sandboxID: string; envdAccessToken: string }>(answer, 201);
          const sandbox = {
            sandboxUrl: server.sandboxUrl,
            sandboxId: made.sandboxID,
            accessToken: made.envdAccessToken,
          };
          const path_ = { path: { sandboxID: made.sandboxID } };
          expect((await run(sandbox, 'sleep 1000 > /dev/null 2>&1 & echo up')).stdout).toContain('up');
          if (index % 4 === 1) assertStatus(await call(server, 'pauseSandbox', path_), 204);
          if (index % 4 === 2)
            assertStatus(await call(server, 'pauseSandbox', { ...path_, body: { memory: false } }), 204);
          if (index % 4 === 3)
            assertStatus(await call(server, 'setSandboxTimeout', { ...path_, body: { timeout: 0 } }), 204);
          else assertStatus(await call(server, 'killSandbox', path_), 204);
        };
        // The first ones warm up what stays: base layers, directories of the driver.
        await Promise.all([0, 1, 2, 3].map(cycle));
        const settle = () =>
          eventually('an empty list', async () => (await server.driver.list()).length === 0);
        await settle();
        const idle = takeSnapshot(dataDir);
        for (let done = 0; done < cycles; done += AT_ONCE)
          await Promise.all(
            Array.from({ length: Math.min(AT_ONCE, cycles - done) }, (_, index) => cycle(done + index)),
          );
        await settle();
        const left = await eventually('nothing more than before', () => {
          const more = difference(idle, takeSnapshot(dataDir));
          return more.length === 0 ? more : undefined;
        }).catch(() => difference(idle, takeSnapshot(dataDir)));
        expect(left).toEqual([]);
      } finally {
        await server.stop({ destroySandboxes: true });
        closeConnections();
      }
      const { processes, mounts, links, ports } = takeSnapshot(dataDir);
      expect(processes).toEqual([]);
      expect(mounts).toEqual([]);
      expect(links).toEqual(before.links);
      expect(ports).toEqual([]);
      await rm(dataDir, { recursive: true, force: true });
      console.log(`leaks on ${driver}: ${cycles} cycles, nothing left`);
    },
    120_000 + cycles * 10_000,
  );
