import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Sandbox, SandboxGoneError } from '@svc/sdk';
import { eventually } from '@svc/support/eventually';
import { chaosProxy } from '@svc/support/testing/chaos-proxy';
import { describeOnServer } from '@svc/support/testing/on-server';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type DirectorySync, type SyncEvent, type SyncOptions, syncDirectory } from '../../src/index.js';

describeOnServer('a synchronization that continues', (fixture) => {
  let sandbox: Sandbox;
  let local: string;
  let remote: string;
  let count = 0;
  let events: SyncEvent[] = [];
  const running: DirectorySync[] = [];
  beforeAll(async () => {
    sandbox = await fixture.client().sandboxes.create({ timeoutMs: 600_000 });
  });
  afterAll(() => sandbox?.kill());
  beforeEach(async () => {
    local = await mkdtemp(join(tmpdir(), 'svc-sync-test-'));
    count += 1;
    remote = `followed-${count}`;
    events = [];
  });
  afterEach(async () => {
    for (const sync of running.splice(0)) await sync.stop();
    await rm(local, { recursive: true, force: true });
  });

  const follow = async (options: Partial<SyncOptions> = {}, of = sandbox) => {
    const sync = await syncDirectory(of, {
      local,
      remote,
      rescanIntervalMs: 600_000,
      onEvent: (event) => events.push(event),
      ...options,
    });
    running.push(sync);
    return sync;
  };
  /** Waits until the sandbox shows something. */
  const remotely = (path: string, text: string | undefined) =>
    eventually(`${path} in the sandbox`, async () => {
      const found = await sandbox.files.read(`${remote}/${path}`).catch(() => undefined);
      return found === text ? [found] : undefined;
    });
  const locally = (path: string, text: string | undefined) =>
    eventually(`${path} here`, async () => {
      const found = await readFile(join(local, path), 'utf8').catch(() => undefined);
      return found === text ? [found] : undefined;
    });
  const told = (wanted: Partial<SyncEvent>) =>
    eventually(`the event ${JSON.stringify(wanted)}`, () =>
      events.find((event) => Object.entries(wanted).every(([key, value]) => event[key as 'type'] === value)),
    );

  it('carries edits, new directories, renames and deletions of each side over to the other', async () => {
    await writeFile(join(local, 'a'), '1');
    const sync = await follow();
    expect(sync.status).toBe('watching');
    await remotely('a', '1');
    await writeFile(join(local, 'a'), '2');
    await remotely('a', '2');
    await sandbox.files.write(`${remote}/a`, '3');
    await locally('a', '3');
    await mkdir(join(local, 'deep/er'), { recursive: true });
    await writeFile(join(local, 'deep/er/file'), 'x');
    await remotely('deep/er/file', 'x');
    await writeFile(join(local, 'deep/er/file'), 'y');
    await remotely('deep/er/file', 'y');
    await sandbox.files.write(`${remote}/deep/other/file`, 'z');
    await locally('deep/other/file', 'z');
    await rename(join(local, 'deep'), join(local, 'moved'));
    await remotely('moved/er/file', 'y');
    await remotely('deep/er/file', undefined);
    // Reported once the other side has it: a moment after the file is seen there.
    await told({ action: 'rename', path: 'moved/er/file' } as Partial<SyncEvent>);
    await sandbox.commands.run(`mv ${remote}/moved ${remote}/back && rm ${remote}/a`);
    await locally('back/other/file', 'z');
    await locally('moved/er/file', undefined);
    await locally('a', undefined);
    await sync.flush();
    expect((await readdir(local)).sort()).toEqual(['back']);
  });

  it('flush waits for everything that was changed before it, and fails once it was stopped', async () => {
    const sync = await follow();
    for (let round = 1; round <= 3; round += 1) {
      await writeFile(join(local, 'here'), `${round}`);
      await sandbox.files.write(`${remote}/there`, `${round}`);
      await sync.flush();
      expect(await sandbox.files.read(`${remote}/here`)).toBe(`${round}`);
      expect(await readFile(join(local, 'there'), 'utf8')).toBe(`${round}`);
    }
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of sync.events) seen.push(event.type);
    })();
    await sync.stop();
    await reading;
    expect(seen).toEqual(['stopped']);
    expect(sync.status).toBe('stopped');
    await expect(sync.flush()).rejects.toThrow('stopped');
    await sync.ended;
    await writeFile(join(local, 'late'), '');
  });

  it('continues when the service is back, and keeps both versions of what both sides changed meanwhile', async () => {
    const proxy = await chaosProxy(fixture.server.sandboxUrl);
    try {
      const through = await fixture.client({ sandboxUrl: proxy.url }).sandboxes.get(sandbox.id);
      await writeFile(join(local, 'a'), 'old');
      await writeFile(join(local, 'b'), 'old');
      const sync = await follow({}, through);
      proxy.setDown(true);
      await writeFile(join(local, 'a'), 'mine');
      await rm(join(local, 'b'));
      await sandbox.files.write(`${remote}/a`, 'theirs');
      await sandbox.files.write(`${remote}/b`, 'edited');
      await told({ type: 'waiting', reason: 'unreachable' });
      proxy.setDown(false);
      await told({ type: 'resumed' });
      await sync.flush();
      const [, copy] = (await readdir(local)).sort();
      expect(copy).toMatch(/^a\.conflict-remote-/);
      for (const [path, text] of Object.entries({ a: 'mine', b: 'edited', [copy as string]: 'theirs' })) {
        expect(await readFile(join(local, path), 'utf8')).toBe(text);
        expect(await sandbox.files.read(`${remote}/${path}`)).toBe(text);
      }
    } finally {
      await proxy.close();
    }
  });

  it('waits while the sandbox is paused, and continues with what was changed meanwhile', async () => {
    const own = await fixture.client().sandboxes.create({ timeoutMs: 600_000 });
    try {
      await writeFile(join(local, 'a'), '1');
      const sync = await follow({}, own);
      await own.pause();
      await told({ type: 'waiting', reason: 'paused' });
      await writeFile(join(local, 'a'), '2');
      expect((await own.info()).state).toBe('paused');
      await own.resume({ timeoutMs: 600_000 });
      await told({ type: 'resumed' });
      await sync.flush();
      expect(await own.files.read(`${remote}/a`)).toBe('2');
      await own.files.write(`${remote}/b`, 'there');
      await locally('b', 'there');
    } finally {
      await own.kill();
    }
  });

  it('ends, and says why, when the sandbox is killed, and leaves the files here alone', async () => {
    const own = await fixture.client().sandboxes.create({ timeoutMs: 600_000 });
    await writeFile(join(local, 'a'), '1');
    const sync = await follow({}, own);
    const ended = sync.ended.then(
      () => undefined,
      (error: unknown) => error,
    );
    await own.kill();
    const error = await ended;
    expect(SandboxGoneError.is(error), String(error)).toBe(true);
    expect(events.at(-1)).toMatchObject({ type: 'stopped', error });
    expect(await readFile(join(local, 'a'), 'utf8')).toBe('1');
  });

  it('stops, and deletes nothing here, when the directory of the sandbox vanishes', async () => {
    await writeFile(join(local, 'a'), '1');
    await writeFile(join(local, 'b'), '1');
    const sync = await follow();
    const ended = sync.ended.catch((error: unknown) => error);
    await sandbox.commands.run(`rm -r ${remote}`);
    expect(await ended).toMatchObject({ code: 'sync_stopped' });
    expect((await readdir(local)).sort()).toEqual(['a', 'b']);
  });
});
