import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { signFilePath } from '@svc/daemon';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { expect, it, onTestFinished } from 'vitest';
import { createSandbox, run } from '../support/sandboxes.js';
import { secondTeam } from '../support/second-team.js';
import { startTestServer, type TestServer } from '../support/server.js';

const findings = await checkHost({ dataDir: tmpdir() });
const able =
  linuxDriverCanRun(findings) && findings.every(({ ok, neededFor }) => ok || neededFor !== 'memorySnapshot');
if (!able) console.warn('Takeover through a snapshot: skipped, this host keeps no memory');

/** Everything that could be a token in the memory of any process but its own, and which words are there; they are given backwards, so that the command itself is no place of theirs. */
const READ_MEMORY = `
import os, re, sys
words = [word[::-1].encode() for word in sys.argv[1:]]
found = set()
read = 0
for pid in os.listdir('/proc'):
    if not pid.isdigit() or int(pid) in (os.getpid(), os.getppid()): continue
    try: maps = open(f'/proc/{pid}/maps').readlines()
    except OSError as error: print('no', pid, error); continue
    for line in maps:
        span, mode = line.split()[:2]
        if 'r' not in mode or '[v' in line: continue
        start, end = (int(part, 16) for part in span.split('-'))
        try:
            with open(f'/proc/{pid}/mem', 'rb', 0) as memory:
                memory.seek(start)
                data = memory.read(end - start)
        except OSError: continue
        read += len(data)
        found |= set(re.findall(rb'(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])', data))
        found |= {b'word:' + word for word in words if word in data}
print('read', read // 1048576, 'MiB')
for one in found: print(one.decode())
`;

it.skipIf(!able)(
  'a copy of a published snapshot holds nothing that opens the sandbox it was taken of',
  async () => {
    const test = await startTestServer({ driver: 'linux', poolSize: 0 });
    onTestFinished(() => test[Symbol.asyncDispose]());
    const source = await createSandbox(test, { envVars: { LEDGER: 'ledger-of-the-source' } });
    // Whatever clients show has passed through by now, on every way that there is.
    for (let count = 0; count < 20; count += 1) await run(test, source, 'true');
    const signature = await signFilePath({
      path: '/etc/hostname',
      operation: 'read',
      accessToken: source.token,
    });
    const signed = `/files?${new URLSearchParams({ path: '/etc/hostname', signature })}`;
    expect((await ask(test, source.id, undefined, signed)).status).toBe(200);
    expect((await ask(test, source.id, source.token, '/envs')).status).toBe(200);

    const taken = await test.api('POST', `/sandboxes/${source.id}/snapshots`, { name: 'taken' });
    expect(taken.status).toBe(201);
    const names = await imagesWith(test.dataDir, [source.token, signature]);
    expect(names).toEqual([]);
    // The source goes on, with its variables, for those who hold its token.
    expect(await run(test, source, 'echo $LEDGER')).toBe('ledger-of-the-source\n');

    const publish = (body: object) => test.api('PATCH', '/v2/templates/taken', body);
    const refused = await publish({ public: true });
    expect(refused.status).toBe(400);
    expect(refused.body.message).toContain('publishMemory: true');
    expect((await publish({ public: true, publishMemory: true })).status).toBe(200);

    const other = await secondTeam(test, 'thieves');
    const { slug } = await test.server.context.db
      .selectFrom('teams')
      .select('slug')
      .where('id', '!=', other.id)
      .executeTakeFirstOrThrow();
    const made = await test.api('POST', '/v2/sandboxes', { templateID: `${slug}/taken` }, other.headers);
    expect(made.status).toBe(201);
    onTestFinished(async () => {
      await test.api('DELETE', `/sandboxes/${made.body.sandboxID}`, undefined, other.headers);
    });
    const copy = { id: made.body.sandboxID as string, token: made.body.envdAccessToken as string };
    expect(await run(test, copy, 'echo "[$LEDGER] $SVC_SANDBOX_ID $(hostname)"')).toMatch(
      new RegExp(`^\\[\\] ${copy.id} (?!.*${source.id})`),
    );

    const backwards = (word: string) => [...word].reverse().join('');
    const words = [source.token, copy.token, signature].map(backwards).join(' ');
    const script = `cat > /tmp/read.py <<'END'\n${READ_MEMORY}\nEND\npython3 /tmp/read.py ${words}`;
    const printed = (await run(test, copy, script, 'root')).trim().split('\n');
    expect(printed[0]).toMatch(/^read \d\d+ MiB$/);
    const found = printed.slice(1);
    expect(found.filter((one) => one.startsWith('word:'))).toEqual([]);
    // Its own token at least is there: the search finds what is to be found.
    expect(found.length).toBeGreaterThan(0);
    for (const token of found) {
      expect((await ask(test, source.id, token, '/envs')).status).toBe(401);
      expect((await ask(test, source.id, token, '/files?path=/etc/hostname')).status).toBe(401);
      const forged = await signFilePath({ path: '/etc/hostname', operation: 'read', accessToken: token });
      const url = `/files?${new URLSearchParams({ path: '/etc/hostname', signature: forged })}`;
      expect((await ask(test, source.id, undefined, url)).status).toBe(401);
    }
  },
  180_000,
);

it.skipIf(!able)(
  'memory that was stored in a template after it was published stays with its team: others get the files',
  async () => {
    const test = await startTestServer({ driver: 'linux', poolSize: 0 });
    onTestFinished(() => test[Symbol.asyncDispose]());
    const source = await createSandbox(test);
    expect(
      (await test.api('POST', `/sandboxes/${source.id}/snapshots`, { name: 'open', memory: false })).status,
    ).toBe(201);
    expect((await test.api('PATCH', '/v2/templates/open', { public: true })).status).toBe(200);
    await run(test, source, 'echo kept > /tmp/file; (sleep 4321 >/dev/null 2>&1 &)');
    expect((await test.api('POST', `/sandboxes/${source.id}/snapshots`, { name: 'open' })).status).toBe(201);
    const other = await secondTeam(test, 'others');
    const { slug } = await test.server.context.db
      .selectFrom('teams')
      .select('slug')
      .where('id', '!=', other.id)
      .executeTakeFirstOrThrow();
    const sleepers = async (headers: Record<string, string>) => {
      const made = await test.api('POST', '/v2/sandboxes', { templateID: `${slug}/open` }, headers);
      expect(made.status).toBe(201);
      const one = { id: made.body.sandboxID as string, token: made.body.envdAccessToken as string };
      const seen = await run(test, one, 'cat /tmp/file; pgrep -fc "[s]leep 4321"; true');
      await test.api('DELETE', `/sandboxes/${one.id}`, undefined, headers);
      return seen;
    };
    expect(await sleepers(other.headers)).toBe('kept\n0\n');
    expect(await sleepers({})).toBe('kept\n1\n');
  },
);

/** One request to the daemon through the gateway. */
async function ask(test: TestServer, id: string, token: string | undefined, target: string) {
  const response = await fetch(`${test.server.sandboxUrl}${target}`, {
    headers: {
      'Svc-Sandbox-Id': id,
      'Svc-Sandbox-Port': '49983',
      ...(token === undefined ? {} : { 'X-Access-Token': token }),
    },
  });
  await response.arrayBuffer();
  return response;
}

/** Files of the driver's checkpoints that have one of the words in them. */
async function imagesWith(dataDir: string, words: string[]): Promise<string[]> {
  const keeper = JSON.parse(await readFile(path.join(dataDir, 'driver/keeper.json'), 'utf8')) as {
    pid: number;
  };
  const patterns = words.flatMap((word) => ['-e', word]);
  const root = path.join(`/proc/${keeper.pid}/root`, dataDir, 'driver');
  const args = ['-rlaF', ...patterns, '--include=pages-*', root];
  const any = await promisify(execFile)('grep', ['-rlaF', '-e', 'HTTP/1.1', '--include=pages-*', root]);
  expect(any.stdout).not.toBe('');
  return promisify(execFile)('grep', args).then(
    ({ stdout }) => stdout.trim().split('\n'),
    () => [],
  );
}
