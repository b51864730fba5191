import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { crashRounds } from '../src/crash/rounds.js';
import { linuxLacks } from '../src/linux-host.js';
import { chooseSeed, randomFrom } from '../src/random.js';
import { closeConnections } from '../src/wire/send.js';

const rounds = Number(process.env.SVC_CRASH_ROUNDS ?? 1);
const lacks = await linuxLacks();

for (const driver of ['process', 'linux'] as const)
  test(
    `a server on ${driver} killed ${rounds} times at any moment loses nothing and leaves nothing half made`,
    async (context) => {
      if (driver === 'linux' && lacks !== undefined) context.skip(lacks);
      const dataDir = await mkdtemp(path.join(tmpdir(), `svc-crash-${driver}-`));
      const random = randomFrom(chooseSeed(`crash on ${driver}`));
      try {
        const report = await crashRounds(dataDir, driver, {
          rounds,
          random,
          log: (line) => console.log(`  ${line}`),
        });
        console.log(
          `crash on ${driver}: ${report.rounds} rounds, ${report.adopted} adopted, ${report.halfMade} creates cut off`,
        );
        expect(report.rounds).toBe(rounds);
      } finally {
        closeConnections();
        await rm(dataDir, { recursive: true, force: true });
      }
    },
    120_000 + rounds * 60_000,
  );
