import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, CommandExitError, ServerError } from '@svc/sdk';
import { describeOnServer } from '@svc/support/testing/on-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CassetteError, type Replay, record, replay, TestService } from '../src/index.js';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-cassette-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const secretOfProgram = 'hush-hush-1234';

/** A session of every kind of call; gives what it saw. `run` differs from run to run. */
async function session(client: Client, run: string) {
  const sandbox = await client.sandboxes.create({
    metadata: { run },
    envs: { OPENAI_API_KEY: secretOfProgram },
  });
  const secret = await client.secrets.create({ name: `s-${run}`, value: 'value "of" a secret' });
  try {
    await sandbox.files.write('in.txt', `content of ${run}`);
    const [one, two] = await Promise.all([
      sandbox.commands.run('echo one; echo err >&2; echo $OPENAI_API_KEY'),
      sandbox.commands.run('cat', { stdin: 'from stdin' }),
    ]);
    const command = await sandbox.commands.start('for i in 1 2 3; do echo $i; sleep 0.01; done; exit 3');
    const streamed = [];
    for await (const event of command) if (event.type === 'stdout') streamed.push(event.text);
    const failed: unknown = await command.wait().catch((error: unknown) => error);
    const { metadata } = await sandbox.info();
    return {
      one: one.stdout.replace(secretOfProgram, '').replace(/REDACTED-*/, ''),
      err: one.stderr,
      two: two.stdout,
      streamed: streamed.join(''),
      exitCode: CommandExitError.is(failed) ? failed.exitCode : failed,
      read: await sandbox.files.read('in.txt'),
      bytes: await sandbox.files.read('in.txt', { format: 'bytes' }),
      names: (await sandbox.files.list('.')).map(({ name }) => name).filter((name) => name === 'in.txt'),
      metadata,
    };
  } finally {
    await client.secrets.delete(secret.secretId);
    await sandbox.kill();
  }
}

describeOnServer(
  'cassettes',
  (fixture) => {
    it('records a real session, and plays it to a client without a service, ids of the run included', async () => {
      const path = join(directory, 'session.jsonl');
      const { server } = fixture;
      const options = { apiUrl: server.apiUrl, sandboxUrl: server.sandboxUrl, logLevel: 'off' } as const;
      const first = '11111111-2222-4333-8444-555555555555';
      const recording = record(path);
      const live = await session(
        new Client({ ...options, apiKey: server.apiKey, fetch: recording.fetch }),
        first,
      );
      await recording.close();
      expect(live).toMatchObject({ two: 'from stdin', streamed: '1\n2\n3\n', exitCode: 3 });

      const text = await readFile(path, 'utf8');
      const decoded = text.replace(/"base64":"([^"]+)"/g, (_, data: string) =>
        Buffer.from(data, 'base64').toString('latin1'),
      );
      for (const hidden of [
        server.apiKey,
        server.apiKey.slice(4),
        secretOfProgram,
        'value "of" a secret',
        'value \\"of',
      ])
        expect(`${text}\n${decoded}`).not.toContain(hidden);
      expect(decoded).not.toMatch(/"(envdAccessToken|x-access-token|x-api-key)":"(?!REDACTED)/);
      expect(text.split('\n')[0]).toMatch(/^\{"cassette":1,"recordedAt":/);

      for (const run of [first, '99999999-2222-4333-8444-555555555555']) {
        await using tape = await replay(path);
        const replayed = await session(new Client({ ...options, apiKey: 'svc_00', fetch: tape.fetch }), run);
        const renamed = {
          read: `content of ${run}`,
          metadata: { run },
          bytes: new TextEncoder().encode(`content of ${run}`),
        };
        expect(replayed).toEqual({ ...live, ...renamed });
        // Output is played at once: a program may have ended before its input is closed.
        expect(tape.unused.filter((place) => !place.endsWith('/CloseStdin'))).toEqual([]);
      }
    });
  },
  ['process'],
);

/** A small cassette that was made without a server, for what is done to it. */
async function smallCassette(name: string): Promise<string> {
  await using service = new TestService();
  service.onCommand('date', { stdout: ['to', 'day'] });
  const path = join(directory, name);
  const recording = record(path, { fetch: service.fetch });
  const client = service.client({ fetch: recording.fetch });
  const sandbox = await client.sandboxes.create({ metadata: { a: 'one' } });
  await sandbox.commands.run('date');
  await client.sandboxes.list();
  await recording.close();
  return path;
}

const clientOf = (fetch: Replay['fetch']) =>
  new Client({
    apiUrl: 'http://api.service.test',
    sandboxUrl: 'http://sandbox.service.test',
    apiKey: 'svc_00',
    logLevel: 'off',
    fetch,
  });

it('shows the nearest recorded request of one that was not recorded, and fails at the end', async () => {
  const path = await smallCassette('nearest.jsonl');
  const tape = await replay(path);
  const client = clientOf(tape.fetch);
  const failure = client.sandboxes.create({ metadata: { a: 'two' } });
  await expect(failure).rejects.toThrow(ServerError);
  await expect(failure).rejects.toThrow(
    /has no answer for POST \/v2\/sandboxes with .*two.*nearest .* POST \/v2\/sandboxes with .*one/,
  );
  expect(tape.unused).toHaveLength(3);
  expect(() => tape.close()).toThrow(CassetteError);
});

it('answers a recorded request once', async () => {
  const tape = await replay(await smallCassette('once.jsonl'));
  const client = clientOf(tape.fetch);
  await client.sandboxes.create({ metadata: { a: 'one' } });
  await client.sandboxes.list();
  await expect(client.sandboxes.list()).rejects.toThrow(/no answer for GET \/v2\/sandboxes/);
});

it('plays answers that a test changed by hand', async () => {
  const path = await smallCassette('edited.jsonl');
  const text = await readFile(path, 'utf8');
  await writeFile(
    path,
    text.replace('"metadata":{"a":"one"},"volumeMounts"', '"metadata":{"a":"by hand"},"volumeMounts"'),
  );
  await using tape = await replay(path);
  const client = clientOf(tape.fetch);
  const sandbox = await client.sandboxes.create({ metadata: { a: 'one' } });
  expect((await sandbox.commands.run('date')).stdout).toBe('today');
  expect((await client.sandboxes.list()).items[0]?.metadata).toEqual({ a: 'by hand' });
});

it('brings requests together as it is asked', async () => {
  const path = await smallCassette('normalized.jsonl');
  await using tape = await replay(path, {
    normalize: (request) => ({ ...request, body: request.body.replace(/"a":"\w+"/, '"a":"any"') }),
  });
  await clientOf(tape.fetch).sandboxes.create({ metadata: { a: 'other' } });
});

it.each([
  ['nothing', () => '', /is empty, so it is no cassette/],
  ['another file', () => '{"name":"x"}\n', /line 1: does not say "cassette"/],
  [
    'another version',
    (text: string) => text.replace('"cassette":1', '"cassette":2'),
    /version 2, and only 1 can be read/,
  ],
  ['cut in a line', (text: string) => text.slice(0, -20), /is cut in the middle/],
  [
    'cut between lines',
    (text: string) => text.split('\n').slice(0, 3).join('\n'),
    /POST .* has no end: the cassette was cut/,
  ],
  [
    'a line that is no JSON',
    (text: string) => text.replace('{"answer":1', '{answer:1'),
    /line 3: is not JSON/,
  ],
  [
    'a broken chunk',
    (text: string) => text.replace(/"base64":"[^"]+"/, '"base64":"***"'),
    /line \d+: holds neither/,
  ],
  [
    'no status',
    (text: string) => text.replace('"status":201', '"status":"201"'),
    /line 3: the answer has no status/,
  ],
  [
    'a line of nobody',
    (text: string) => `${text}{"chunk":99,"text":"x"}\n`,
    /belongs to request 99, which is not there/,
  ],
])('refuses a cassette with %s, and says where and what to do', async (name, damage, message) => {
  const path = await smallCassette('damaged.jsonl');
  await writeFile(path, damage(await readFile(path, 'utf8')));
  const refused = replay(path);
  await expect(refused, name).rejects.toThrow(CassetteError);
  await expect(refused).rejects.toThrow(message);
  await expect(refused).rejects.toThrow(/Record it again with record\(\)/);
});

it('plays a stream that broke as it was recorded, and one that was left', async () => {
  const path = join(directory, 'broken.jsonl');
  await using service = new TestService();
  service
    .onCommand('long', { stdout: ['before ', 'after'] })
    .onCommand('wait', { stdout: 'up', afterMs: 1e6 });
  service.faults.add({ command: 'long', cutAfterBytes: 7 });
  const recording = record(path, { fetch: service.fetch });
  const work = async (client: Client) => {
    const sandbox = await client.sandboxes.create();
    const command = await sandbox.commands.start('long');
    const { stdout } = await command.wait();
    const waiting = await sandbox.commands.start('wait');
    for await (const event of waiting) if (event.type === 'stdout') break;
    await waiting.kill();
    return [stdout, command.reattached];
  };
  const live = await work(service.client({ fetch: recording.fetch }));
  await recording.close();
  expect(await readFile(path, 'utf8')).toContain('"how":"broken"');
  await using tape = await replay(path);
  expect(await work(clientOf(tape.fetch))).toEqual(live);
  expect(live).toEqual(['before after', 1]);
});
