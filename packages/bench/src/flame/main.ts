// Draws flame graphs of what the service does for a pooled create and for a command:
//   npm run build && npm run flame -w packages/bench -- DIRECTORY
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@svc/sdk';
import { startServerChild } from '../support/server-child.js';
import { type CpuProfile, fold } from './fold.js';
import { renderFlame } from './render.js';

const CREATES = 20;
const COMMANDS = 100;
const WARM_UPS = 5;

const [directory = 'docs/flame'] = process.argv.slice(2);
const profiles = await mkdtemp(path.join(tmpdir(), 'svc-flame-'));
// The server is another user.
await chmod(profiles, 0o777);
// Children that are forked take these over; this process itself is not measured.
process.execArgv.push('--cpu-prof', '--cpu-prof-interval', '200', '--cpu-prof-dir', profiles);

const now = () => Number(process.hrtime.bigint() / 1000n);

async function times(count: number, work: () => Promise<void>): Promise<[number, number]> {
  for (let round = 0; round < WARM_UPS; round++) await work();
  const from = now();
  for (let round = 0; round < count; round++) await work();
  return [from, now()];
}

try {
  const server = await startServerChild({ driver: 'linux', poolSize: 4 });
  const client = new Client({ ...server, requestTimeoutMs: 60_000 });
  const kept = await client.sandboxes.create();
  const run = await times(COMMANDS, async () => void (await kept.commands.run('true')));
  const create = await times(CREATES, async () => {
    await server.poolReady();
    await (await client.sandboxes.create()).kill();
  });
  const processes = { server: server.pid, 'svc-runtime': server.rootPid };
  await server[Symbol.asyncDispose]();
  await mkdir(directory, { recursive: true });
  for (const file of await readdir(profiles)) {
    const found = Object.entries(processes).find(([, pid]) => file.includes(`.${pid}.`));
    if (found === undefined) continue;
    const profile = JSON.parse(await readFile(path.join(profiles, file), 'utf8')) as CpuProfile;
    const draw = async (name: string, what: string, [from, to]: [number, number], per: number) => {
      const root = fold(profile, from, to);
      if (root.total === 0) return;
      await writeFile(
        path.join(directory, `${name}-${found[0]}.svg`),
        renderFlame(root, { title: `${found[0]}, ${what}`, per }),
      );
    };
    await draw('run', "commands.run('true')", run, COMMANDS);
    await draw('create', 'create from the pool, refill, kill', create, CREATES);
  }
} finally {
  await rm(profiles, { recursive: true, force: true });
}
process.exit();
