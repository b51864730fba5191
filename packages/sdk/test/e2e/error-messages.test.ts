import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '@svc/server';
import { TestService } from '@svc/testing';
import { expect, it } from 'vitest';
import { Client, SvcError, Template, webhooks } from '../../src/index.js';

const page = new URL('./error-messages.md', import.meta.url);

const head = `# What the commonest mistakes look like

Each message below is what the SDK says today: a test makes each mistake against a running server and compares. Names,
ids and addresses that differ from run to run stand in angle brackets. After a change on purpose, write the page anew
with \`UPDATE_DOCS=1 npx vitest run test/e2e/error-messages.test.ts\` in \`packages/sdk\`.

| Mistake | Error | \`retryable\` | Message |
|---|---|---|---|
`;

it('every message of the page is what the SDK says', { timeout: 240_000 }, async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-messages-'));
  const common = {
    driver: 'process',
    apiPort: 0,
    sandboxPort: 0,
    operatorPort: false,
    logLevel: 'error',
    poolSize: 0,
  } as const;
  const server = await startServer({ ...common, dataDir: join(dataDir, 'one') });
  const strict = await startServer({
    ...common,
    dataDir: join(dataDir, 'two'),
    rateLimits: { general: { rate: 0.01, burst: 1 }, create: { rate: 0, burst: 1 } },
  });
  const key = process.env.SVC_API_KEY;
  delete process.env.SVC_API_KEY;
  const off = { logLevel: 'off', maxRetries: 0 } as const;
  const client = new Client({
    apiUrl: server.apiUrl,
    sandboxUrl: server.sandboxUrl,
    apiKey: server.apiKey,
    ...off,
  });
  try {
    await using silent = await listen(() => {});
    await using stranger = await listen((_, response) =>
      response.writeHead(404, { 'Content-Type': 'text/html' }).end('<h1>Not Found</h1>'),
    );
    // Nobody listens there, and nobody is given this port by chance.
    const closed = 'http://127.0.0.1:2';
    const sandbox = await client.sandboxes.create({ timeoutMs: 600_000 });
    const gone = await client.sandboxes.create();
    await gone.kill();
    await client.secrets.create({ name: 'taken', value: 'x' });
    const full = new TestService();
    full.faults.add({
      operation: 'writeFiles',
      status: 507,
      message: 'no space left on device',
      times: Infinity,
    });
    const fullSandbox = await full.client().sandboxes.create();
    const delivery = await webhooks.sign({ body: '{}', secret: 'x'.repeat(32) });
    const at = (apiUrl: string, options = {}) =>
      new Client({ apiUrl, apiKey: server.apiKey, ...off, ...options });

    const mistakes: [string, () => unknown][] = [
      ['No API key is set', () => new Client({ apiUrl: server.apiUrl, ...off }).sandboxes.list()],
      [
        'The API key is unknown',
        () => at(server.apiUrl, { apiKey: `${server.apiKey.slice(0, -6)}000000` }).sandboxes.list(),
      ],
      ['The address has no scheme', () => new Client({ apiUrl: 'api.example.com' })],
      ['The server is down', () => at(closed).sandboxes.list()],
      ['Something else listens at the address', () => at(stranger.url).sandboxes.create()],
      [
        'The server does not answer in time',
        () => at(silent.url, { requestTimeoutMs: 200 }).sandboxes.list(),
      ],
      [
        'The rate limit is exceeded',
        async () => {
          const limited = at(strict.apiUrl, { apiKey: strict.apiKey });
          for (let count = 0; count < 3; count++) await limited.secrets.list();
        },
      ],
      ['The template does not exist', () => client.sandboxes.create({ template: 'no-such-template' })],
      ['The time to live is too long', () => client.sandboxes.create({ timeoutMs: 1000 * 3_600_000 })],
      ['The sandbox does not exist', () => client.sandboxes.get(gone.id)],
      ['The sandbox was killed before the command', () => gone.commands.run('true')],
      ['The sandbox was killed before the file was read', () => gone.files.read('x')],
      ['The command fails', () => sandbox.commands.run('echo "no such module" >&2; exit 3')],
      ['The command takes longer than its limit', () => sandbox.commands.run('sleep 60', { timeoutMs: 300 })],
      ['The user does not exist', () => sandbox.commands.run('true', { user: 'nobody-here' })],
      [
        'The working directory does not exist',
        () => sandbox.commands.run('true', { cwd: '/no/such/directory' }),
      ],
      ['The process has ended', () => sandbox.commands.connect(4_000_000)],
      ['Input for a command without stdin', async () => (await sandbox.commands.start('true')).stdin],
      ['The file does not exist', () => sandbox.files.read('/no/such/file')],
      ['A directory is read as a file', () => sandbox.files.read('/')],
      ["The sandbox's disk is full (scripted answer)", () => fullSandbox.files.write('x', 'y')],
      ['The local directory does not exist', () => sandbox.files.uploadDir('/no/such/directory', 'x')],
      ['The name of a secret is taken', () => client.secrets.create({ name: 'taken', value: 'x' })],
      [
        'A file to copy into a template does not exist',
        () =>
          client.templates.build(Template.from('base', { contextDir: dataDir }).copy('absent', 'x'), {
            name: 'x',
          }),
      ],
      [
        'A step of a template fails',
        async () =>
          (await client.templates.build(Template.from('base').run('exit 7'), { name: 'fails' })).wait(),
      ],
      ['A Dockerfile has several stages', () => Template.fromDockerfile('FROM a AS one\nRUN true\nFROM b\n')],
      ["A webhook's body was parsed first", () => webhooks.verify({} as string, delivery, 'x'.repeat(32))],
      ["A webhook's secret is another one's", () => webhooks.verify('{}', delivery, 'y'.repeat(32))],
    ];
    const rows: string[] = [];
    for (const [mistake, make] of mistakes) {
      const error = await Promise.resolve()
        .then(make)
        .then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
      expect(SvcError.is(error), `${mistake}: ${String(error)}`).toBe(true);
      const { name, message, retryable } = error as SvcError;
      for (const secret of [server.apiKey, strict.apiKey]) expect(message).not.toContain(secret);
      rows.push(`| ${mistake} | \`${name}\` | ${retryable ? 'yes' : 'no'} | ${show(message)} |`);
    }
    await sandbox.kill();
    const text = `${head}${rows.join('\n')}\n`;
    if (process.env.UPDATE_DOCS) await writeFile(page, text);
    expect(await readFile(page, 'utf8')).toBe(text);

    function show(message: string): string {
      return message
        .replaceAll(dataDir, '<directory>')
        .replaceAll(gone.id, '<sandbox>')
        .replaceAll(sandbox.id, '<sandbox>')
        .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uuid>')
        .replace(/request [A-Za-z0-9_-]+\)/g, 'request <id>)')
        .replace(/(127\.0\.0\.1|localhost):\d+/g, '<host>')
        .replace(/Wait \d+ s/, 'Wait <n> s')
        .replaceAll('|', '\\|')
        .replaceAll('<', '&lt;')
        .replaceAll('\n', '<br>');
    }
  } finally {
    if (key !== undefined) process.env.SVC_API_KEY = key;
    await Promise.all([server.stop({ destroySandboxes: true }), strict.stop({ destroySandboxes: true })]);
    await rm(dataDir, { recursive: true, force: true });
  }
});

async function listen(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.asyncDispose]: close };
}
