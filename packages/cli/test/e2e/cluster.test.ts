import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { baseDirectory, baseRecipe, findBase } from '@svc/runtime/host';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runProcess } from '../support/run-cli.js';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'cli-cluster-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const svc = (args: string[], env: Record<string, string> = {}, timeoutMs = 90_000) =>
  runProcess(args, { env: { HOME: home, XDG_CONFIG_HOME: join(home, 'config'), ...env }, timeoutMs });

describe('svc cluster, without one', () => {
  it('says where nothing answers, and ends nothing where nothing is', async () => {
    const socket = join(home, 'unix.socket');
    const status = await svc(['cluster', 'status', '--address', socket]);
    expect(status).toMatchObject({ code: 1, stdout: '' });
    expect(status.stderr).toContain(`Incus does not answer at ${socket}: ENOENT.`);
    const down = await svc(['cluster', 'down', '--directory', join(home, 'cluster'), '--json']);
    expect(JSON.parse(down.stdout)).toEqual({ stopped: false });
    expect(await readdir(home)).not.toContain('cluster');
  });

  it('refuses what is no token, and a pool without a source', async () => {
    const join = ['cluster', 'join', 'bm9uc2Vuc2U=', '--address', '10.0.0.1'];
    const token = await svc(join);
    expect(token.code).toBe(1);
    expect(token.stderr).toContain('This is no join token: `incus cluster add NAME`');
    const pool = await svc([...join, '--pool-source', 'default']);
    expect(pool.code).toBe(2);
    expect(pool.stderr).toContain('write pool=source');
  });

  it('is missed by the doctor and by a server that is to use it', async () => {
    const env = { SVC_INCUS_ADDRESS: join(home, 'unix.socket') };
    const doctor = await svc(['server', 'doctor', '--driver', 'incus'], env);
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(/^NO {2}incus {2}Incus does not answer at .*ENOENT/m);
    expect(doctor.stdout).toContain('sudo svc cluster up');
    const up = await svc(
      ['server', 'up', '--driver', 'incus', '--data-dir', join(home, 'data'), '-p', '0'],
      env,
    );
    expect(up).toMatchObject({ code: 1, stdout: '' });
    expect(up.stderr).toContain('The cluster that runs sandboxes does not answer.');
  });
});

const base = findBase(baseDirectory({}), await baseRecipe());
const skip =
  process.env.SVC_HEAVY !== '1'
    ? 'set SVC_HEAVY=1'
    : process.getuid?.() !== 0 || base === undefined
      ? 'it needs root and the template base'
      : undefined;
if (skip !== undefined) console.warn(`svc cluster on this machine: skipped, ${skip}`);

describe.skipIf(skip !== undefined)('svc cluster, on this machine', () => {
  const limitMs = 600_000;

  it('starts, runs a sandbox, and goes without a trace', { timeout: 3 * limitMs }, async () => {
    const directory = join(home, 'cluster');
    const up = await svc(
      ['cluster', 'up', '--members', '2', '--directory', directory, '--json'],
      {},
      limitMs,
    );
    expect(up, up.stderr).toMatchObject({ code: 0 });
    const { address, members } = JSON.parse(up.stdout) as { address: string; members: { name: string }[] };
    expect(members.map(({ name }) => name)).toEqual(['m1', 'm2']);
    const data = ['--data-dir', join(home, 'data')];
    const env = { SVC_INCUS_ADDRESS: address };
    try {
      const again = await svc(['cluster', 'up', '--directory', directory]);
      expect(again.stderr).toContain('runs in');
      const doctor = await svc(['server', 'doctor', '--driver', 'incus'], env);
      expect(doctor).toMatchObject({ code: 0 });
      const ports = ['-p', '0', '--sandbox-port', '0', '--operator-port', '0'];
      const server = await svc(
        ['server', 'up', '--driver', 'incus', '--detach', ...data, ...ports],
        env,
        limitMs,
      );
      expect(server, server.stderr).toMatchObject({ code: 0 });
      const created = await svc(['sandbox', 'create', '--json'], env, limitMs);
      expect(created, created.stderr).toMatchObject({ code: 0 });
      const { sandboxId } = JSON.parse(created.stdout) as { sandboxId: string };
      const run = await svc(['sandbox', 'exec', sandboxId, '--', 'hostname']);
      expect(run).toMatchObject({ code: 0, stdout: `${sandboxId}\n` });
      const status = await svc(['cluster', 'status', '--directory', directory, '--json']);
      const { members: seen } = JSON.parse(status.stdout) as {
        members: { status: string; sandboxes: number }[];
      };
      expect(seen.map(({ status: state }) => state)).toEqual(['Online', 'Online']);
      expect(seen.reduce((sum, { sandboxes }) => sum + sandboxes, 0)).toBe(1);
      expect(await svc(['sandbox', 'kill', sandboxId])).toMatchObject({ code: 0 });
    } finally {
      await svc(['server', 'down', '--force', ...data]);
      const down = await svc(['cluster', 'down', '--directory', directory], {}, limitMs);
      expect(down, down.stderr).toMatchObject({ code: 0 });
    }
    expect(existsSync(directory)).toBe(false);
  });
});
