import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { createProcessDriver } from '../../src/process.js';
import { DaemonClient, findLeaks } from '../../src/testing.js';
import { bundleModule } from '../support/bundle-module.js';
import { envdProgram } from '../support/envd-program.js';

const ROUNDS = 5;

/** Makes instances without end and says which are done. */
const PROGRAM = `
import { createProcessDriver } from './driver.mjs';
const [dataDir, daemon] = process.argv.slice(2);
const driver = await createProcessDriver({ dataDir, daemon: JSON.parse(daemon) });
const spec = { layers: [], limits: {}, network: { egress: 'internet' }, mounts: [], labels: {} };
driver.setPool([{ spec, size: 2 }]);
for (let i = 0; ; i += 1) {
  const id = 'r' + process.pid + 'n' + i;
  const instance = await driver.create({ id, spec });
  console.log(id);
  if (i % 2 === 1) await instance.checkpoint({ checkpointId: id, memory: false, then: 'continue' });
}
`;

/** Stores an instance and destroys it, and is killed when the instance's processes are stopped and about to be ended. */
const PROGRAM_KILLED_IN_DESTROY = `
import { createProcessDriver } from './driver.mjs';
const [dataDir, daemon] = process.argv.slice(2);
const driver = await createProcessDriver({ dataDir, daemon: JSON.parse(daemon) });
const spec = { layers: [], limits: {}, network: { egress: 'internet' }, mounts: [], labels: {} };
const instance = await driver.create({ id: 'one', spec });
const kill = process.kill.bind(process);
process.kill = (pid, signal) => kill(signal === 'SIGKILL' ? process.pid : pid, signal);
await instance.checkpoint({ checkpointId: 'one', memory: false, then: 'destroy' });
`;

describe('a process driver that is killed at any moment', () => {
  let directory: string;
  beforeAll(async () => {
    ({ directory } = await bundleModule('src/process-driver/create-process-driver.ts', 'driver.mjs'));
    await writeFile(join(directory, 'program.mjs'), PROGRAM);
    await writeFile(join(directory, 'killed-in-destroy.mjs'), PROGRAM_KILLED_IN_DESTROY);
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it(`leaves ${ROUNDS} times what was acquired alive and nothing else after the reaper`, async () => {
    const dataDir = join(directory, 'data');
    for (let round = 0; round < ROUNDS; round += 1) {
      const child = spawn(
        process.execPath,
        [join(directory, 'program.mjs'), dataDir, JSON.stringify(envdProgram)],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
      const done = () => output.split('\n').slice(0, -1);
      await eventually('some instances', () => done().length > round);
      child.kill('SIGKILL');
      await once(child, 'close');

      const driver = await createProcessDriver({ dataDir, daemon: envdProgram });
      try {
        const records = await driver.list();
        const ids = records.map(({ id }) => id);
        expect(ids).toEqual(expect.arrayContaining(done()));
        expect(records.filter(({ state }) => state !== 'running')).toEqual([]);
        const kept = done()[0]!;
        await driver.reap({ instanceIds: [kept], checkpointIds: [] });
        expect((await driver.list()).map(({ id }) => id)).toEqual([kept]);
        const adopted = await driver.adopt(kept);
        expect(await new DaemonClient(adopted!).health()).toBe(204);
        // A daemon that was just being started when its driver was killed ends by itself: there is nobody to report to.
        await eventually('nothing but what was kept', () => findLeaks(dataDir).length === 1);
      } finally {
        await driver.close({ destroyInstances: true });
      }
      await eventually('nothing left', () => findLeaks(dataDir).length === 0);
    }
  });

  it('leaves no instance that is on record as running and answers nobody', async () => {
    const dataDir = join(directory, 'stopped');
    const child = spawn(
      process.execPath,
      [join(directory, 'killed-in-destroy.mjs'), dataDir, JSON.stringify(envdProgram)],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    expect(await once(child, 'close')).toEqual([null, 'SIGKILL']);

    const driver = await createProcessDriver({ dataDir, daemon: envdProgram });
    try {
      expect(await driver.list()).toMatchObject([{ id: 'one', state: 'running' }]);
      const client = new DaemonClient((await driver.adopt('one'))!);
      expect(await client.health()).toBe(204);
      expect(await client.output('echo back')).toBe('back');
    } finally {
      await driver.close({ destroyInstances: true });
    }
    expect(findLeaks(dataDir)).toEqual([]);
  });
});
