import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { NamespaceKeeper } from '../../src/linux-driver/namespace/namespace-keeper.js';
import { pathsOf } from '../../src/linux-driver/state/paths.js';
import { runProgram } from '../../src/shared/run-program.js';
import { PROGRAMS, startProgram, step } from '../support/counting-programs.js';
import { linuxBench } from '../support/linux-bench.js';
import { memorySkipReason } from '../support/linux-host.js';

const skip = memorySkipReason();
const IMAGES = '/run/images';

describe.skipIf(skip !== undefined)('a checkpoint for copies at once', () => {
  const bench = linuxBench();
  const program = PROGRAMS[0]!;
  const brief = { memory: true, then: 'continue', brief: true } as const;
  const keeper = () => NamespaceKeeper.find(pathsOf(bench.dataDir))!;
  const inMemory = () => readdirSync(keeper().view(IMAGES));
  const inStore = (id: string) =>
    existsSync(keeper().view(join(pathsOf(bench.dataDir).store, `c/${id}/img`)));

  /** A source that counts, with a checkpoint called `brief`. */
  async function fork() {
    const source = await bench.create();
    await startProgram(source.client, program);
    expect(await step(source.client, program)).toBe('1');
    const made = await source.instance.checkpoint({ checkpointId: 'brief', ...brief });
    return { source, made };
  }

  it('has its memory in that of the host, resumes many times over, and leaves nothing', async () => {
    const { source, made } = await fork();
    expect(inMemory()).toEqual(['brief']);
    expect(inStore('brief')).toBe(false);
    expect(made.sizeBytes).toBeGreaterThan(1e6);
    expect(await bench.driver.listCheckpoints()).toEqual([
      { id: 'brief', memory: true, sizeBytes: made.sizeBytes },
    ]);
    const copies = await Promise.all([bench.restore('brief', true), bench.restore('brief', true)]);
    expect(await step(copies[0]!.client, program)).toBe('2');
    // A copy of a copy, which is stored to stay.
    await copies[0]!.instance.checkpoint({ checkpointId: 'kept', memory: true, then: 'continue' });
    expect(inStore('kept')).toBe(true);
    await bench.driver.deleteCheckpoint('brief');
    await eventually('the memory to be free', () => inMemory().length === 0);
    expect(await step(copies[1]!.client, program)).toBe('2');
    expect(await step(source.client, program)).toBe('2');
    // The name is free again.
    await source.instance.checkpoint({ checkpointId: 'brief', ...brief });
    expect(inMemory()).toEqual(['brief']);
    expect(await step((await bench.restore('brief', true)).client, program)).toBe('3');
  });

  it('goes to the store where memory has no room, or turns out to have none', async () => {
    const { instance, client } = await bench.create();
    const size = async (of: string) => {
      // The images of an earlier test are removed in the background, and there is no room while they remain.
      await eventually('the memory to be free', () => inMemory().length === 0);
      const enter = `--mount=/proc/${keeper().pid}/ns/mnt`;
      const { exitCode } = await runProgram('nsenter', [enter, 'mount', '-o', `remount,size=${of}`, IMAGES]);
      expect(exitCode).toBe(0);
    };
    await size('256k');
    await instance.checkpoint({ checkpointId: 'too-small', ...brief });
    expect(inStore('too-small')).toBe(true);
    // Files in memory count as cache, and are stored all the same.
    await client.output('head -c 60000000 /dev/urandom > /dev/shm/file; cksum < /dev/shm/file > /tmp/sum');
    await size('48m');
    await instance.checkpoint({ checkpointId: 'overrun', ...brief });
    expect(inStore('overrun')).toBe(true);
    expect(inMemory()).toEqual([]);
    await size('25%');
    const copy = await bench.restore('overrun', true);
    expect(await copy.client.output('cksum < /dev/shm/file | diff - /tmp/sum && echo same')).toBe('same');
  });

  it('outlives a restart of the service, but not one of the machine', async () => {
    await fork();
    await bench.reopen();
    expect(await step((await bench.restore('brief', true)).client, program)).toBe('2');
    mkdirSync(keeper().view(join(IMAGES, 'left-by-a-crash')));
    await bench.driver.reap({ instanceIds: [], checkpointIds: ['brief'] });
    expect(inMemory()).toEqual(['brief']);
    await bench.driver.close();
    const lost = NamespaceKeeper.find(pathsOf(bench.dataDir));
    lost?.stop(pathsOf(bench.dataDir));
    await eventually('the end of the namespace keeper', () => lost?.alive !== true);
    await bench.open();
    await expect(bench.restore('brief', true)).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('this machine has started again'),
    });
    const cold = await bench.restore('brief', false);
    expect((await cold.client.run('test -d /tmp')).exitCode).toBe(0);
    expect(await bench.driver.reap({ instanceIds: [], checkpointIds: [] })).toContain('checkpoint brief');
  });
});
