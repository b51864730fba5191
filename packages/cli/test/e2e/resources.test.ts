import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Client } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { type ProcessOptions, runCli, runProcess } from '../support/run-cli.js';
import { openTerminal } from '../support/terminal.js';

describe('secrets, volumes, webhooks, templates and keys', () => {
  let local: LocalServer;
  const svc = (args: string[], options: Parameters<typeof runCli>[1] = {}) =>
    runCli(args, { env: local.env, ...options });
  const svcProcess = (args: string[], options: ProcessOptions = {}) =>
    runProcess(args, { env: local.env, ...options });

  beforeAll(async () => {
    local = await startLocalServer();
  });
  afterAll(() => local?.[Symbol.asyncDispose]());

  it('keeps a secret from a pipe, gives it a new value, and deletes it', async () => {
    const made = await svc(['secret', 'create', 'db-password', '-m', 'team=a'], {
      stdin: 'hunter2-secret\n',
    });
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(/^db-password {2}sec_/);
    expect((await svc(['secret', 'list'])).stdout).toMatch(/db-password\s+sec_\S+\s+1\s+.*team=a/);
    expect((await svc(['secret', 'update', 'db-password'], { stdin: 'other' })).stdout).toContain(
      'version 2',
    );
    expect((await svc(['secret', 'get', 'db-password'])).stdout).toMatch(/Version +2\n[\s\S]*team=a/);
    expect((await svc(['secret', 'list', '-q'])).stdout).toBe('db-password\n');
    expect((await svc(['secret', 'delete', 'db-password'])).stdout).toBe('Deleted db-password\n');
    expect((await svc(['secret', 'delete', 'db-password'])).code).toBe(1);
  });

  it('warns of a value on the command line, and shows none', async () => {
    const run = await svc(['secret', 'create', 'loud', '--value', 'hunter2-secret']);
    expect(run.code).toBe(0);
    expect(run.stderr).toContain('seen by other users');
    expect(run.stdout + run.stderr).not.toContain('hunter2-secret');
  });

  it('asks for a secret in a terminal without showing it', async () => {
    using terminal = openTerminal(['secret', 'create', 'typed'], { env: local.env });
    await terminal.shows('Value of typed (not shown): ');
    terminal.type('hunter3X\x7f\r');
    await terminal.shows(/typed {2}sec_/);
    expect(await terminal.exit).toBe(0);
    expect(terminal.output()).not.toContain('hunter3');
  });

  it('writes files into a volume and reads them, by its name', async () => {
    const id = (await svc(['volume', 'create', 'data'])).stdout.trim();
    expect(await svc(['volume', 'put', 'data', '-', 'in/a.txt'], { stdin: 'volume text' })).toMatchObject({
      code: 0,
    });
    expect((await svc(['volume', 'ls', 'data', '--depth', '2'])).stdout).toMatch(/11 B .*\/in\/a\.txt/);
    expect((await svc(['volume', 'get', id, 'in/a.txt', '-'])).stdout).toBe('volume text');
    const file = join(local.home, 'got.txt');
    expect((await svc(['volume', 'get', 'data', '/in/a.txt', file])).code).toBe(0);
    expect(await readFile(file, 'utf8')).toBe('volume text');
    expect((await svc(['volume', 'info', 'data'])).stdout).toContain(id);
    expect((await svc(['volume', 'ls'])).stdout).toMatch(new RegExp(`data\\s+${id}`));
    expect((await svc(['volume', 'mkdir', 'data', 'a/b', '-p', '--mode', '750'])).stdout).toBe(
      'Made /a/b/\n',
    );
    expect((await svc(['volume', 'chmod', 'data', 'in/a.txt', '640', '--uid', '1000'])).stdout).toMatch(
      /^0640 1000:\d+ \/in\/a\.txt\n$/,
    );
    expect((await svc(['volume', 'chmod', 'data', 'in/a.txt', 'rw'])).stderr).toContain('not a file mode');
    expect((await svc(['volume', 'rm', 'data', 'in'])).stdout).toBe('Deleted in\n');
    expect((await svc(['volume', 'rm', 'data', 'in'])).code).toBe(1);
    expect((await svc(['volume', 'delete', 'data'])).code).toBe(0);
    const gone = await svc(['volume', 'info', 'data']);
    expect(gone.code).toBe(1);
    expect(gone.stderr).toContain('There is no volume data.');
  });

  it('makes, changes and deletes a webhook, and shows its key once', async () => {
    const made = await svc(['webhook', 'create', 'http://127.0.0.1:9/x', '--events', 'killed,created']);
    expect(made.code).toBe(0);
    expect(made.stderr).toMatch(/shown only once: whsec_/);
    const id = made.stdout.trim();
    expect((await svc(['webhook', 'update', id, '--disable'])).code).toBe(0);
    const list = await svc(['webhook', 'list']);
    expect(list.stdout).toMatch(new RegExp(`${id}\\s+127.0.0.1:9\\s+disabled\\s+\\S+\\s+killed,created`));
    expect(list.stdout).not.toContain('whsec_');
    expect((await svc(['webhook', 'get', id])).stdout).toMatch(/State +disabled\n/);
    expect((await svc(['webhook', 'stats', id])).stdout).toMatch(/EVENTS +DELIVERED[\s\S]* 0 +0 +0 +0\n/);
    expect((await svc(['webhook', 'create', 'http://127.0.0.1:9/', '--events', 'exploded'])).code).toBe(2);
    expect((await svc(['webhook', 'delete', id])).code).toBe(0);
  });

  it('receives verified events here, and removes the webhook at the end', async () => {
    let id = '';
    const run = await svcProcess(['webhook', 'listen', '--events', 'created,killed'], {
      started: async (child, output) => {
        await eventually('the listener', () => output().includes('Listening at'));
        id = (await svc(['sandbox', 'create', '-q', '-m', 'for=webhook'])).stdout.trim();
        await svc(['sandbox', 'kill', id]);
        await eventually('both events', () => /created[\s\S]*killed/.test(output()));
        child.kill('SIGINT');
      },
    });
    expect(run.code).toBe(130);
    expect(run.stdout).toMatch(
      new RegExp(`created\\s+${id}\\s+for=webhook\\n.*killed\\s+${id}\\s+\\(request\\)`),
    );
    expect(run.stderr).toContain('Removed the webhook. 2 events received.');
    expect((await svc(['webhook', 'list', '--json'])).stdout.trim()).toBe('[]');
  });

  it('delivers one event again, or all that failed', async () => {
    let status = 500;
    let requests = 0;
    const receiver = createServer((request, response) => {
      request.resume();
      requests += 1;
      response.writeHead(status).end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
      const { apiUrl, sandboxUrl, apiKey } = local.server;
      const client = new Client({ apiUrl, sandboxUrl, apiKey });
      const { id } = await client.webhooks.create({
        ...{ name: 'hook', url, events: ['sandbox.lifecycle.created'], signatureSecret: 'x'.repeat(32) },
      });
      /** Waits until so many deliveries have ended so, and gives their events, oldest first. */
      const ended = (outcome: 'success' | 'failed', count: number) =>
        eventually(`${count} deliveries: ${outcome}`, async () => {
          const found = await client.webhooks.deliveries(id, { status: outcome, order: 'asc' });
          return found.items.length === count ? found.items.map(({ eventId }) => eventId) : undefined;
        });
      for (let count = 0; count < 2; count++) await (await client.sandboxes.create()).kill();
      const [first, second] = await ended('failed', 2);
      const listed = await svc(['webhook', 'deliveries', id, '--status', 'failed', '-q']);
      expect(listed.stdout).toBe(`${second}\n${first}\n`);
      expect((await svc(['webhook', 'redeliver', id, first!, '--failed'])).code).toBe(2);
      const unknown = await svc(['webhook', 'redeliver', id, id]);
      expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('not sent to this webhook') });
      status = 204;
      const one = await svc(['webhook', 'redeliver', id, first!, '--json']);
      expect(JSON.parse(one.stdout)).toMatchObject([{ eventId: first, status: 'pending' }]);
      await ended('success', 1);
      const rest = await svc(['webhook', 'redeliver', id, '--failed']);
      expect(rest).toMatchObject({ code: 0, stdout: `Delivering ${second} again\n` });
      await ended('success', 2);
      expect(requests).toBe(10);
      expect((await svc(['webhook', 'deliveries', id])).stdout).toMatch(/EVENT ID[\s\S]*delivered \(204\)/);
      expect((await svc(['webhook', 'redeliver', id, '--failed'])).stderr).toContain(
        'No delivery has failed.',
      );
      await client.webhooks.delete(id);
    } finally {
      receiver.close();
      receiver.closeAllConnections();
    }
  });

  it('builds a template from its file, shows the log, tags, lists and deletes it', async () => {
    const dir = join(local.home, 'My App');
    await mkdir(dir, { recursive: true });
    expect((await svc(['template', 'init', dir])).code).toBe(0);
    expect((await svc(['template', 'init', dir])).stderr).toContain('already exists');
    // In a process of its own: it goes to the directory of the template.
    const build = await svcProcess(['template', 'build', dir]);
    expect(build.stderr).toContain('Built in');
    expect(build).toMatchObject({ code: 0 });
    expect(build.stdout).toMatch(/^my-app {2}\S+\n$/);
    const listed = await svc(['template', 'list']);
    expect(listed.stdout).toMatch(/my-app\s+\S+\s+ready/);
    expect((await svc(['template', 'tag', 'my-app', 'v1'])).code).toBe(0);
    expect((await svc(['template', 'tag', 'my-app'])).stdout).toMatch(/v1\s+/);
    const id = (await svc(['sandbox', 'create', '-q', 'my-app:v1'])).stdout.trim();
    expect((await svc(['sandbox', 'exec', id, 'echo $GREETING; cat ~/app/notes.txt'])).stdout).toBe(
      'hello\nmade by the build\n',
    );
    await svc(['sandbox', 'kill', id]);
    const info = await svc(['template', 'info', 'my-app']);
    expect(info.stdout).toMatch(/Seen +by this team alone\n/);
    expect(info.stdout).toMatch(/Tags +.*v1/s);
    const [latest] = (await svc(['template', 'builds', 'my-app', '-q'])).stdout.split('\n');
    expect((await svc(['template', 'logs', 'my-app', latest!])).stderr).toContain(`Build ${latest}: `);
    expect((await svc(['template', 'logs', 'my-app'])).stdout).not.toBe('');
    expect((await svc(['template', 'publish', 'my-app'])).stdout).toContain('my-app is public.\n');
    expect((await svc(['template', 'alias', 'my-app'])).stdout).toContain('public');
    expect((await svc(['template', 'unpublish', 'my-app'])).stdout).toContain('my-app is private.\n');
    expect((await svc(['template', 'delete', 'my-app'])).code).toBe(0);
  });

  it('reads a template in TypeScript where Node.js can, and says what to do where not', async () => {
    const file = join(local.home, 'typed.ts');
    await writeFile(
      file,
      "export const name: string = 'typed';\nexport default ({ Template }: any) => Template.from('base');\n",
    );
    const build = await svcProcess(['template', 'build', file]);
    expect(build.stderr).not.toContain('Dockerfile');
    // As it was built, the program reads TypeScript where its Node does.
    if ('typescript' in process.features || process.env.SVC_TEST_BUILT !== '1')
      expect(build).toMatchObject({ code: 0 });
    else {
      expect(build.code).toBe(1);
      expect(build.stderr).toContain('does not read TypeScript');
    }
    const other = join(local.home, 'typed.yaml');
    await writeFile(other, 'name: x\n');
    expect((await svc(['template', 'build', other])).stderr).toContain('neither a module nor a Dockerfile');
  });

  it('reports which step of a build failed', async () => {
    const file = join(local.home, 'bad.mjs');
    await writeFile(
      file,
      "export default ({ Template }) => Template.from('base').run('echo going-wrong >&2; exit 4');\n",
    );
    const build = await svcProcess(['template', 'build', file, '--name', 'bad']);
    expect(build.code).toBe(1);
    expect(build.stderr).toMatch(/error: .*step 1/);
    expect(build.stderr).toContain('going-wrong');
  });

  it('keeps a key for its owner alone, uses it, shows where it came from, and forgets it', async () => {
    const home = join(local.home, 'fresh');
    const bare = { HOME: home, SVC_DATA_DIR: join(home, 'none') };
    const wrong = await runCli(['auth', 'login', '--api-url', local.server.apiUrl], {
      env: bare,
      stdin: `svc_${'1'.repeat(40)}`,
    });
    expect(wrong.code).toBe(1);
    const login = await runCli(
      ['auth', 'login', '--api-url', local.server.apiUrl, '--sandbox-url', local.server.sandboxUrl],
      {
        env: bare,
        stdin: local.server.apiKey,
      },
    );
    expect(login).toMatchObject({ code: 0 });
    expect(login.stdout).toContain('Logged in to the team Default');
    const file = join(home, '.config', 'svc', 'config.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await runCli(['sandbox', 'list'], { env: bare })).code).toBe(0);
    const status = await runCli(['auth', 'status'], { env: bare });
    expect(status.stdout).toContain(`(${file})`);
    expect(status.stdout).not.toContain(local.server.apiKey);
    const overruled = await runCli(['auth', 'status'], { env: { ...bare, SVC_API_KEY: 'svc_other' } });
    expect(overruled.stdout).toContain('(environment)');
    expect(overruled.code).toBe(1);
    expect((await runCli(['auth', 'logout'], { env: bare })).stdout).toContain('Removed');
    expect((await runCli(['sandbox', 'list'], { env: bare })).code).toBe(1);
  });
});
