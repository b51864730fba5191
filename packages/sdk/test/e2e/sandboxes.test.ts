import http from 'node:http';
import { eventually } from '@svc/support/eventually';
import { describeOnServer } from '@svc/support/testing/on-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AuthenticationError,
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  type Sandbox,
  SandboxGoneError,
  SandboxNotFoundError,
  TemplateNotFoundError,
} from '../../src/index.js';

/** The status of an address. Browsers and curl know that names under localhost are this machine. */
async function knock(address: string, { port, text = /./ }: { port?: number; text?: RegExp } = {}) {
  const url = new URL(address);
  const host = port === undefined ? url.host : url.host.replace(/^\d+/, String(port));
  const { statusCode, body } = await new Promise<{ statusCode: number | undefined; body: string }>(
    (resolve, reject) => {
      const path = url.pathname + url.search;
      http
        .get({ hostname: '127.0.0.1', port: url.port, path, headers: { Host: host } }, async (answer) => {
          const pieces: Buffer[] = await answer.toArray();
          resolve({ statusCode: answer.statusCode, body: Buffer.concat(pieces).toString() });
        })
        .on('error', reject);
    },
  );
  expect(body).toMatch(text);
  return statusCode;
}

describeOnServer('sandboxes', (fixture) => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await fixture.client().sandboxes.create({
      timeoutMs: 600_000,
      metadata: { suite: 'sandboxes', odd: 'a=b&c%d+e f' },
      envs: { GREETING: 'hello there' },
    });
  });
  afterAll(async () => {
    await sandbox?.kill();
  });

  it('creates one without options, from the base template', async () => {
    await using created = await fixture.client().sandboxes.create();
    expect(created.id).toMatch(/^i[a-z0-9]{20}$/);
    expect((await created.info()).state).toBe('running');
  });

  it('creates one from a template by name, and says when there is none', async () => {
    await using created = await fixture.client().sandboxes.create('base', { timeoutMs: 60_000 });
    expect(created.templateId).toBe(sandbox.templateId);
    await expect(fixture.client().sandboxes.create('no-such-template')).rejects.toSatisfy((error) =>
      TemplateNotFoundError.is(error),
    );
  });

  describe('getOrCreate', () => {
    const named = async (name: string) =>
      (await fixture.client().sandboxes.list({ metadata: { name } }).toArray()).map(
        ({ sandboxId }) => sandboxId,
      );
    const kill = async (name: string) => {
      for (const id of await named(name)) await fixture.client().sandboxes.kill(id);
    };

    it('makes one sandbox of a name, however many ask at once, with any options', async () => {
      const made = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          fixture
            .client()
            .sandboxes.getOrCreate({ name: 'Ünter-suchung #1', timeoutMs: 600_000 + 1000 * (index % 2) }),
        ),
      );
      const id = made[0]!.id;
      expect(made.map((one) => one.id)).toEqual(made.map(() => id));
      expect(await named('Ünter-suchung #1')).toEqual([id]);
      await kill('Ünter-suchung #1');
    });

    it('resumes a paused one, keeps other metadata, and begins anew where it was killed', async () => {
      const options = { name: 'kept', metadata: { team: 'a' }, timeoutMs: 120_000 };
      const first = await fixture.client().sandboxes.getOrCreate(options);
      await first.files.write('note', 'still here');
      await first.pause();
      const again = await fixture.client().sandboxes.getOrCreate(options);
      expect(again.id).toBe(first.id);
      expect(await again.files.read('note')).toBe('still here');
      expect((await again.info()).metadata).toEqual({ team: 'a', name: 'kept' });
      const ids = new Set([first.id]);
      for (let round = 0; round < 3; round += 1) {
        await kill('kept');
        const next = await fixture.client().sandboxes.getOrCreate({ ...options, timeoutMs: 600_000 + round });
        expect(ids).not.toContain(next.id);
        ids.add(next.id);
      }
      await kill('kept');
    });

    it('gives the failure of a create, and makes the sandbox once it can be made', async () => {
      const { sandboxes } = fixture.client();
      for (let round = 0; round < 2; round += 1)
        await expect(sandboxes.getOrCreate({ name: 'unlucky', template: 'no-such' })).rejects.toSatisfy(
          (error) => TemplateNotFoundError.is(error),
        );
      await sandboxes.getOrCreate({ name: 'unlucky' });
      expect(await named('unlucky')).toHaveLength(1);
      await kill('unlucky');
      await expect(sandboxes.getOrCreate({ name: '' })).rejects.toThrow(/the name is empty/);
    });
  });

  it('gives the environment to every command', async () => {
    expect((await sandbox.commands.run('echo "$GREETING $SVC_SANDBOX_ID"')).stdout).toBe(
      `hello there ${sandbox.id}\n`,
    );
  });

  it('reads everything about it', async () => {
    const info = await sandbox.info();
    expect(info).toMatchObject({
      sandboxId: sandbox.id,
      state: 'running',
      metadata: { suite: 'sandboxes', odd: 'a=b&c%d+e f' },
      lifecycle: { onTimeout: 'kill', autoResume: false },
      allowInternetAccess: undefined,
      volumeMounts: {},
    });
    expect(info.endAt.getTime() - info.startedAt.getTime()).toBe(600_000);
  });

  it('lists by metadata with odd characters, page by page and item by item', async () => {
    const { sandboxes } = fixture.client();
    const others = await Promise.all(
      [1, 2].map((number) => sandboxes.create({ metadata: { group: 'g', number: String(number) } })),
    );
    try {
      const found = await sandboxes.list({ metadata: { odd: 'a=b&c%d+e f' } }).toArray();
      expect(found.map(({ sandboxId }) => sandboxId)).toEqual([sandbox.id]);
      const pages: number[] = [];
      for await (const page of sandboxes.list({ metadata: { group: 'g' }, limit: 1 }).pages())
        pages.push(page.items.length);
      expect(pages).toEqual([1, 1]);
      const first = await sandboxes.list({ metadata: { group: 'g' }, state: 'running', limit: 1 });
      expect(first).toMatchObject({ total: 2, items: [{ state: 'running' }] });
      const rest = await sandboxes.list({
        metadata: { group: 'g' },
        state: 'running',
        limit: 1,
        nextToken: first.nextToken,
      });
      expect(rest.items[0]?.sandboxId).not.toBe(first.items[0]?.sandboxId);
      expect(await sandboxes.list({ state: 'paused', metadata: { group: 'g' } }).toArray()).toEqual([]);
    } finally {
      await Promise.all(others.map((other) => other.kill()));
    }
  });

  it('moves the end of its life', async () => {
    await sandbox.setTimeout(120_500);
    const short = (await sandbox.info()).endAt.getTime();
    await sandbox.refresh(600_000);
    const long = (await sandbox.info()).endAt.getTime();
    expect(long - short).toBeGreaterThan(400_000);
    await expect(sandbox.setTimeout(48 * 3_600_000)).rejects.toThrow(/longer than 24 hours/);
    expect((await sandbox.info()).endAt.getTime()).toBe(long);
    await sandbox.refresh(15_000);
    expect((await sandbox.info()).endAt.getTime()).toBe(long);
  });

  it('gives a second handle by connect and by get', async () => {
    const { sandboxes } = fixture.client();
    for (const handle of [
      await sandboxes.connect(sandbox.id, { timeoutMs: 600_000 }),
      await sandboxes.get(sandbox.id),
    ]) {
      expect((await handle.commands.run('echo $GREETING')).stdout).toBe('hello there\n');
    }
    await expect(sandboxes.get(`i${'0'.repeat(20)}`)).rejects.toSatisfy((error) =>
      SandboxNotFoundError.is(error),
    );
    await expect(sandboxes.connect(`i${'0'.repeat(20)}`)).rejects.toSatisfy((error) =>
      SandboxNotFoundError.is(error),
    );
  });

  it('distinguishes running from deleted, also in the error of a command', async () => {
    const created = await fixture.client().sandboxes.create();
    expect(await created.isRunning()).toBe(true);
    expect(await created.kill()).toBe(true);
    expect(await created.kill()).toBe(false);
    expect(await fixture.client().sandboxes.kill(created.id)).toBe(false);
    expect(await created.isRunning()).toBe(false);
    const failure = created.commands.run('true');
    await expect(failure).rejects.toSatisfy((error) => SandboxGoneError.is(error));
    await expect(failure).rejects.toThrow(created.id);
    await expect(created.commands.list()).rejects.toSatisfy((error) => SandboxGoneError.is(error));
    await expect(created.info()).rejects.toSatisfy((error) => SandboxNotFoundError.is(error));
  });

  it('ends a running command with the fate of its sandbox', async () => {
    const created = await fixture.client().sandboxes.create();
    const command = await created.commands.start('echo on; sleep 600');
    const reader = command[Symbol.asyncIterator]();
    await reader.next();
    await created.kill();
    await expect(command.wait()).rejects.toSatisfy((error) => SandboxGoneError.is(error));
    await expect(reader.next()).rejects.toSatisfy((error) => SandboxGoneError.is(error));
  });

  it('pauses and resumes, with what was on its disk', async (context) => {
    const created = await fixture.client().sandboxes.create({ timeoutMs: 300_000 });
    try {
      await created.commands.run('echo kept > note');
      const memory = fixture.server.driver.capabilities.memorySnapshot ? undefined : false;
      if (memory === false)
        console.warn(`pause without memory: the ${fixture.driver} driver keeps none (${context.task.name})`);
      expect(await created.pause({ memory })).toBe(true);
      expect(await created.pause({ memory })).toBe(false);
      expect((await created.info()).state).toBe('paused');
      expect(await created.isRunning()).toBe(false);
      expect((await fixture.client().sandboxes.get(created.id)).id).toBe(created.id);
      await created.resume({ timeoutMs: 300_000 });
      expect(await created.isRunning()).toBe(true);
      expect((await created.commands.run('cat note')).stdout).toBe('kept\n');
    } finally {
      await created.kill();
    }
  });

  it('pauses and resumes with a program that continues counting', async (context) => {
    if (!fixture.server.driver.capabilities.memorySnapshot)
      return context.skip(`the ${fixture.driver} driver keeps no memory`);
    const created = await fixture.client().sandboxes.create({ timeoutMs: 300_000 });
    try {
      const line = 'n=0; while read -r word; do n=$((n + 1)); echo "$n $word"; done';
      const before = await created.commands.start(line, { stdin: true, tag: 'counter' });
      await before.stdin.getWriter().write('one\n');
      const first = await before[Symbol.asyncIterator]().next();
      expect(first.value).toMatchObject({ text: '1 one\n' });
      before.wait().catch(() => {});
      await created.pause();
      await created.resume({ timeoutMs: 300_000 });
      const after = await created.commands.connect({ tag: 'counter' });
      expect(after.pid).toBe(before.pid);
      const writer = after.stdin.getWriter();
      await writer.write('two\n');
      await writer.close();
      expect(await after.wait()).toMatchObject({ exitCode: 0, stdout: '1 one\n2 two\n' });
    } finally {
      await created.kill();
    }
  });

  it('forks, and gives each fork or its error', async (context) => {
    if (!fixture.server.driver.capabilities.memorySnapshot)
      return context.skip(`the ${fixture.driver} driver keeps no memory`);
    await sandbox.commands.run('echo from the source > origin');
    const forks = await sandbox.fork({ count: 2, timeoutMs: 600_000 });
    try {
      expect(forks.map(({ ok }) => ok)).toEqual([true, true]);
      for (const fork of forks) {
        if (!fork.ok) throw fork.error;
        expect(fork.sandbox.id).not.toBe(sandbox.id);
        expect((await fork.sandbox.commands.run('cat origin')).stdout).toBe('from the source\n');
      }
    } finally {
      for (const fork of forks) if (fork.ok) await fork.sandbox.kill();
    }
  });

  it('forks a terminal session into eight, each of which continues by itself', async (context) => {
    if (!fixture.server.driver.capabilities.memorySnapshot)
      return context.skip(`the ${fixture.driver} driver keeps no memory`);
    const watch = async (from: Sandbox, pid: number) => {
      const decoder = new TextDecoder();
      let text = '';
      const session = await from.pty.connect(pid, {
        onData: (data) => {
          text += decoder.decode(data, { stream: true });
        },
      });
      return async (line: string, shows: string) => {
        await session.write(`${line}\r`);
        await eventually(`the terminal to show ${shows}`, () => text.includes(shows));
      };
    };
    const terminal = await sandbox.pty.create({ cwd: '/' });
    const type = await watch(sandbox, terminal.pid);
    await type('count=41; echo ready-$((count))', 'ready-41');
    const since = performance.now();
    const forks = await sandbox.fork({ count: 8, timeoutMs: 600_000 });
    const took = Math.round(performance.now() - since);
    try {
      for (const [index, fork] of forks.entries()) {
        if (!fork.ok) throw fork.error;
        const typeThere = await watch(fork.sandbox, terminal.pid);
        await typeThere(
          `count=$((count + ${index + 1})); echo fork-$((count))-$(hostname)`,
          `fork-${42 + index}-${fork.sandbox.id}`,
        );
      }
      await type('echo source-$((count))-$(hostname)', `source-41-${sandbox.id}`);
      console.log(`sandbox.fork({ count: 8 }) of a terminal session: ${took} ms`);
    } finally {
      for (const fork of forks) if (fork.ok) await fork.sandbox.kill();
      await terminal.kill();
    }
  });

  it('runs a function on forks and kills each of them', async (context) => {
    if (!fixture.server.driver.capabilities.memorySnapshot)
      return context.skip(`the ${fixture.driver} driver keeps no memory`);
    const ids: string[] = [];
    const results = await sandbox.withForks(
      2,
      async (fork, index) => {
        ids.push(fork.id);
        if (index === 1) throw new Error('this one fails');
        return (await fork.commands.run('echo $((6 * 7))')).stdout;
      },
      { concurrency: 1, timeoutMs: 300_000 },
    );
    expect(results).toEqual([
      { ok: true, value: '42\n' },
      { ok: false, error: new Error('this one fails') },
    ]);
    for (const id of ids) expect(await fixture.client().sandboxes.kill(id)).toBe(false);
  });

  it('takes a snapshot that sandboxes are created from', async (context) => {
    const { memorySnapshot } = fixture.server.driver.capabilities;
    if (!memorySnapshot)
      console.warn(
        `snapshot of files only: the ${fixture.driver} driver keeps no memory (${context.task.name})`,
      );
    await sandbox.commands.run('echo stored > stored');
    const snapshot = await sandbox.createSnapshot({
      name: 'kept',
      ...(memorySnapshot ? {} : { memory: false }),
    });
    expect(snapshot.names[0]).toContain('kept');
    await using created = await fixture.client().sandboxes.create({ template: snapshot.snapshotId });
    expect((await created.commands.run('cat stored')).stdout).toBe('stored\n');
  });

  it('reads metrics of one and of many', async () => {
    await fixture.server.sampleNow();
    const [sample] = await sandbox.metrics();
    expect(sample?.memoryTotalBytes).toBeGreaterThan(0);
    const many = await fixture.client().sandboxes.metrics([sandbox.id, sandbox.id, `i${'0'.repeat(20)}`]);
    expect(Object.keys(many)).toEqual([sandbox.id]);
  });

  it('reads and follows what programs printed', async () => {
    await sandbox.commands.run('echo first line; echo to stderr >&2');
    await eventually('the line in the log', async () => {
      const entries = await sandbox.logs({ direction: 'forward', search: 'first line' });
      return entries.some(({ message, level }) => message === 'first line' && level === 'info');
    });
    const seen: string[] = [];
    const controller = new AbortController();
    const follow = (async () => {
      for await (const entry of sandbox.logs.follow({
        signal: controller.signal,
        pollIntervalMs: 50,
        search: 'followed',
      })) {
        seen.push(entry.message);
        if (seen.length === 3) break;
      }
    })();
    for (const number of [1, 2, 3]) await sandbox.commands.run(`echo followed ${number}`);
    await follow;
    expect(seen).toEqual(['followed 1', 'followed 2', 'followed 3']);
  });

  it('reads and follows the log of a sandbox that was killed, by its id', async () => {
    const { sandboxes } = fixture.client();
    const created = await sandboxes.create();
    await created.commands.run('echo last words');
    await eventually('the line in the log', async () => (await created.logs()).length > 0);
    await created.kill();
    expect(await sandboxes.logs(created.id)).toMatchObject([{ message: 'last words' }]);
    const followed = [];
    for await (const entry of sandboxes.followLogs(created.id, { pollIntervalMs: 10 })) followed.push(entry);
    expect(followed).toMatchObject([{ message: 'last words' }]);
    expect(await sandboxes.logs(`${created.id}x`)).toEqual([]);
  });

  it('follows a burst of 5,000 lines without losing or repeating one, from the end of what was there', async () => {
    const created = await fixture.client().sandboxes.create();
    await created.commands.run('seq 1 2500');
    await eventually('the lines in the log', async () => (await created.logs({ search: '2500' })).length > 0);
    const numbers: number[] = [];
    for await (const { message } of created.logs.follow({ pollIntervalMs: 10, tail: 900 })) {
      if (numbers.length === 0) await created.commands.run('seq 2501 5000');
      if (numbers.push(Number(message)) === 3400) break;
    }
    expect(numbers).toEqual(Array.from({ length: 3400 }, (_, index) => 1601 + index));
    await created.kill();
  });

  it('ends following the log of a sandbox that is deleted', async () => {
    const created = await fixture.client().sandboxes.create();
    await created.kill();
    const entries = [];
    for await (const entry of created.logs.follow({ pollIntervalMs: 10 })) entries.push(entry);
    expect(entries.every(({ message }) => typeof message === 'string')).toBe(true);
  });

  it('replaces what it may reach', async () => {
    const closed = fixture.server.driver.capabilities.networkIsolation;
    const own = await fixture.client().sandboxes.create({ allowInternetAccess: closed ? false : undefined });
    try {
      const denyOut = closed ? ['0.0.0.0/0'] : [];
      await own.updateNetwork({ denyOut });
      expect((await own.info()).network?.denyOut ?? []).toEqual(denyOut);
    } finally {
      await own.kill();
    }
  });

  it('changes what it reaches, or passes on that a network rule cannot be enforced', async () => {
    const update = sandbox.updateNetwork({ denyOut: ['192.0.2.0/24'] });
    if (fixture.server.driver.capabilities.egressPolicy) {
      await update;
      await sandbox.updateNetwork({});
      return;
    }
    const refused = update;
    await expect(refused).rejects.toSatisfy((error) => InvalidRequestError.is(error));
    await expect(refused).rejects.toThrow(/denyOut|not isolate|enforce/i);
  });

  it('reaches a service inside, by fetch and by its host', async () => {
    const python =
      'import http.server,sys\\nclass H(http.server.BaseHTTPRequestHandler):\\n def do_GET(s):\\n  s.send_response(200);s.end_headers();s.wfile.write(("GET "+s.path).encode())\\ns=http.server.HTTPServer(("",0),H);print(s.server_port,flush=True);s.serve_forever()';
    const service = await sandbox.commands.start(`printf '${python}' > s.py; exec python3 s.py`);
    try {
      // The process driver shares the ports of this machine, so the service takes a free one and says which.
      const { value } = await service[Symbol.asyncIterator]().next();
      const port = Number(value?.type === 'stdout' && value.text);
      const answer = await sandbox.fetch(port, '/a/b?c=d');
      expect([answer.status, await answer.text()]).toEqual([200, 'GET /a/b?c=d']);
      expect(sandbox.host(port)).toMatch(new RegExp(`^${port}-${sandbox.id}\\.`));
      expect(sandbox.url(port)).toBe(`http://${sandbox.host(port)}`);
    } finally {
      await service.kill();
    }
    expect((await sandbox.fetch(1)).status).toBe(502);
  });

  it('reaches a private port through a handle that was got, and not without its token', async () => {
    const { sandboxes } = fixture.client();
    await using closed = await sandboxes.create({ network: { allowPublicTraffic: false } });
    expect(closed.trafficAccessToken).toMatch(/./);
    const got = await sandboxes.get(closed.id);
    expect(got.trafficAccessToken).toBe(closed.trafficAccessToken);
    // Nothing listens there: the gateway looked, which it does only for who may ask.
    expect((await got.fetch(1)).status).toBe(502);
    const headers = { 'Svc-Sandbox-Id': closed.id, 'Svc-Sandbox-Port': '1' };
    const stranger = await fetch(fixture.server.sandboxUrl, { headers });
    expect(stranger.status).toBe(403);
    await stranger.body?.cancel();
    expect(sandbox.trafficAccessToken).toBeUndefined();
  });

  it('signs links that open a private port over pause and resume, and no port of a fork', async () => {
    const { sandboxes } = fixture.client();
    const closed = await sandboxes.create({ network: { allowPublicTraffic: false }, timeoutMs: 120_000 });
    const signed = { expiresInMs: 60_000 };
    const link = await closed.url(1, { signed });
    // Nothing listens there: the gateway looked, which it does only for who may ask.
    expect(await knock(link)).toBe(502);
    expect(await knock(closed.url(1))).toBe(403);
    expect(await knock(await closed.url(2, { signed }), { port: 1 })).toBe(403);
    expect(link).not.toContain(closed.trafficAccessToken);
    if (fixture.server.driver.capabilities.memorySnapshot) {
      const [fork] = await closed.fork({ timeoutMs: 600_000 });
      if (!fork?.ok) throw fork?.error;
      const { search } = new URL(link);
      expect(await knock(`${fork.sandbox.url(1)}/${search}`)).toBe(403);
      expect(await knock(await fork.sandbox.url(1, { signed }))).toBe(502);
      await fork.sandbox.kill();
      await closed.pause();
      await closed.resume();
      expect(await knock(link)).toBe(502);
    }
    await closed.kill();
    expect(await knock(link, { text: /not found/ })).toBe(502);
    const open = await sandbox.url(1, { signed }).catch((error: unknown) => error);
    expect(InvalidRequestError.is(open) && open.message).toMatch(/are public/);
  });

  it('resumes with another end of its life', async (context) => {
    if (!fixture.server.driver.capabilities.memorySnapshot)
      return context.skip(`the ${fixture.driver} driver keeps no memory`);
    await using created = await fixture.client().sandboxes.create();
    await expect(created.resume({ autoPause: true })).rejects.toSatisfy((error) => ConflictError.is(error));
    await created.pause();
    await created.resume({ autoPause: true, timeoutMs: 60_000 });
    expect((await created.info()).lifecycle.onTimeout).toBe('pause');
  });

  it('reads the team', async () => {
    const team = await fixture.client().team();
    expect(team.limits.maxTimeoutMs).toBeGreaterThan(60_000);
  });

  it('gives the raw clients', async () => {
    const { data, response } = await fixture.client().platform.GET('/v2/sandboxes', {});
    expect([response.status, data?.some(({ sandboxID }) => sandboxID === sandbox.id)]).toEqual([200, true]);
    const daemon = await sandbox.daemon;
    expect((await daemon.process.list({})).processes).toBeDefined();
  });

  it('names what is wrong with the key and the address', async () => {
    await expect(fixture.client({ apiKey: '' }).team()).rejects.toSatisfy((error) =>
      AuthenticationError.is(error),
    );
    await expect(fixture.client({ apiKey: `svc_${'0'.repeat(40)}` }).team()).rejects.toMatchObject({
      status: 401,
    });
    const nowhere = fixture.client({ apiUrl: 'http://127.0.0.1:9', maxRetries: 0 });
    await expect(nowhere.team()).rejects.toSatisfy((error) => ConnectionError.is(error));
  });
});
