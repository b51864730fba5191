import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '#support/eventually';
import { createSandbox, run } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';

const able = linuxDriverCanRun(await checkHost({ dataDir: tmpdir() }));
if (!able) console.warn('The deletion of mounted volumes: skipped, this host cannot run the linux driver');

const FILES = 20;
/** Volumes that are deleted while a program swaps directories in them. */
const TRIES = Number(process.env.SVC_ESCAPE_TRIES ?? 1);

/** Swaps directories for links to a directory of the host, again and again, and fills them up. */
const swap = (outside: string) => `cd /data
perl -e 'sub fill { my $d = shift; mkdir "d$d"; mkdir "d$d/in"; for my $f (1..200) { open my $h, ">", "d$d/in/f$f" } }
fill($_) for 0..19;
open my $ready, ">", "ready";
my $end = time + 60;
for (my $round = 0; time < $end; $round++) { for my $d (0..19) {
  next unless rename "d$d/in", "k$d" or !fill($d);
  symlink "${outside}", "d$d/in"; select undef, undef, undef, 0.0002; unlink "d$d/in"; rename "k$d", "d$d/in"
} }' >/dev/null 2>&1 </dev/null &
while [ ! -e ready ]; do sleep 0.05; done; echo swapping`;

describe.skipIf(!able)('a volume that is deleted while a sandbox has it mounted', () => {
  let test: TestServer;
  let outside: string;
  beforeAll(async () => {
    test = await startTestServer({ driver: 'linux', poolSize: 0, tuning: { cleanUpIntervalMs: 50 } });
  });
  afterAll(() => test?.[Symbol.asyncDispose]());

  /** Volumes that the driver still has; the tests have no others than deleted ones. */
  const trash = () => test.server.driver.volumes.list();

  async function makeOutside(): Promise<void> {
    outside = await mkdtemp(path.join(tmpdir(), 'svc-outside-'));
    onTestFinished(() => rm(outside, { recursive: true, force: true }));
    for (let n = 0; n < FILES; n += 1) await writeFile(path.join(outside, `f${n + 1}`), 'of the host');
    await mkdir(path.join(outside, 'directory'));
  }

  it('takes no file of the host with it, however a program in the sandbox swaps directories for links', async () => {
    await makeOutside();
    for (let round = 0; round < TRIES; round += 1) {
      const name = `swapped-${round}`;
      const volume = await test.api('POST', '/volumes', { name });
      const sandbox = await createSandbox(test, { volumeMounts: [{ name, path: '/data' }] });
      expect(await run(test, sandbox, swap(outside))).toBe('swapping\n');
      expect((await test.api('DELETE', `/volumes/${volume.body.volumeID}`)).status).toBe(204);
      expect(await trash()).toHaveLength(1);
      await test.api('DELETE', `/sandboxes/${sandbox.id}`);
      await eventually('the files of the volume are deleted', async () => (await trash()).length === 0);
      expect(await readdir(outside)).toHaveLength(FILES + 1);
    }
  });

  it('stays usable in that sandbox, and its files go once no sandbox has it mounted', async () => {
    const volume = await test.api('POST', '/volumes', { name: 'kept' });
    const sandbox = await createSandbox(test, { volumeMounts: [{ name: 'kept', path: '/data' }] });
    await run(test, sandbox, 'echo mine > /data/file');
    expect((await test.api('DELETE', `/volumes/${volume.body.volumeID}`)).status).toBe(204);
    expect((await test.api('GET', `/volumes/${volume.body.volumeID}`)).status).toBe(404);
    await test.restart();
    expect(await run(test, sandbox, 'echo more >> /data/file; cat /data/file')).toBe('mine\nmore\n');
    expect(await trash()).toHaveLength(1);
    await test.api('DELETE', `/sandboxes/${sandbox.id}`);
    await eventually('the files of the volume are deleted', async () => (await trash()).length === 0);
  });

  it('makes a resume of a paused sandbox fail, and is not made anew by it', async () => {
    const volume = await test.api('POST', '/volumes', { name: 'missed' });
    const sandbox = await createSandbox(test, { volumeMounts: [{ name: 'missed', path: '/data' }] });
    expect((await test.api('POST', `/sandboxes/${sandbox.id}/pause`)).status).toBe(204);
    expect((await test.api('DELETE', `/volumes/${volume.body.volumeID}`)).status).toBe(204);
    await eventually('the files of the volume are deleted', async () => (await trash()).length === 0);
    const resumed = await test.api('POST', `/v2/sandboxes/${sandbox.id}/connect`, {});
    expect(resumed.status).toBe(400);
    expect(await trash()).toEqual([]);
  });
});
