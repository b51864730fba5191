import { context, propagation } from '@opentelemetry/api';
import { describeOnServer } from '@svc/support/testing/on-server';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { Client, ClientOptions, Sandbox } from '../../src/index.js';
import { openTelemetry } from '../../src/opentelemetry.js';
import { json } from '../support/scripted-fetch.js';
import { plain, recordSpans } from '../support/span-recorder.js';

/** Answers every request with the headers that it got. */
const echo = `require("http").createServer((req, res) => res.end(JSON.stringify(req.headers))).listen(PORT)`;

describeOnServer('spans of the SDK', (fixture) => {
  let recorded: ReturnType<typeof recordSpans>;
  let sandbox: Sandbox;
  const traced = (options: ClientOptions = {}, more: Parameters<typeof openTelemetry>[0] = {}): Client =>
    fixture.client({ ...options, telemetry: openTelemetry({ ...recorded, ...more }) });
  beforeAll(async () => {
    recorded = recordSpans();
    sandbox = await traced().sandboxes.create({ timeoutMs: 600_000 });
    recorded.forget();
  });
  afterEach(() => recorded.forget());
  afterAll(async () => {
    await sandbox?.kill();
    await recorded?.stop();
  });

  it('hang below the span of the program, one for each call and each command', async () => {
    await recorded.inside('job', async () => {
      const own = await traced().sandboxes.create({ envs: { TOKEN: 'tok-never-shown' } });
      await own.commands.run('echo "$TOKEN"; echo key-in-the-line; exit 0');
      await own.files.write('notes.txt', 'contents-never-shown');
      expect(await own.files.read('notes.txt')).toBe('contents-never-shown');
      await own.commands.run('echo why-never-shown >&2; exit 3', { check: false });
      await own.kill();
    });
    const job = await recorded.only('job');
    const { traceId, spanId } = job.spanContext();
    const names = ['sandboxes.create', 'commands.run', 'files.write', 'files.read', 'sandboxes.kill'];
    for (const span of names.flatMap(recorded.finished))
      expect(plain(span)).toMatchObject({ traceId, parent: spanId });
    const create = plain(await recorded.only('sandboxes.create'));
    expect(create).toMatchObject({
      status: 'UNSET',
      attributes: {
        'svc.service': 'platform',
        'svc.sandbox.id': expect.stringMatching(/^[a-z0-9]+$/),
        'svc.template.id': expect.any(String),
        'http.request.method': 'POST',
        'http.response.status_code': 201,
        'server.address': '127.0.0.1',
      },
    });
    const id = create.attributes['svc.sandbox.id'];
    const [fine, failing] = recorded.finished('commands.run').map(plain);
    expect(fine).toMatchObject({
      status: 'UNSET',
      attributes: { 'svc.sandbox.id': id, 'process.exit.code': 0 },
    });
    expect(failing).toMatchObject({
      status: 'ERROR',
      message: 'command_exit',
      attributes: { 'process.exit.code': 3, 'error.type': 'command_exit' },
    });
    expect(plain(await recorded.only('files.write')).attributes).toMatchObject({ 'svc.io.sent': 20 });
    expect(plain(await recorded.only('files.read')).attributes).toMatchObject({ 'svc.io.received': 20 });
    expect(plain(await recorded.only('sandboxes.kill')).attributes).toMatchObject({ 'svc.sandbox.id': id });
    const text = recorded.text();
    for (const secret of ['never-shown', 'key-in-the-line', 'notes.txt', fixture.server.apiKey])
      expect(text).not.toContain(secret);
  });

  it('last as long as the command does, not as long as its start', async () => {
    const command = await sandbox.commands.start('read line', { stdin: true });
    expect(recorded.finished('commands.start')).toEqual([]);
    await command.closeStdin();
    await command.wait({ check: false });
    expect(plain(await recorded.only('commands.start'))).toMatchObject({
      attributes: { 'process.pid': command.pid, 'process.exit.code': 1 },
      events: [{ name: 'started' }],
    });
  });

  it('report that the caller gave up', async () => {
    const controller = new AbortController();
    const command = await sandbox.commands.start('sleep 60', { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(command.wait()).rejects.toThrow('enough');
    expect(plain(await recorded.only('commands.start'))).toMatchObject({
      status: 'ERROR',
      message: 'aborted',
    });
  });

  it('do not call it a failure when a program is left to itself', async () => {
    const command = await sandbox.commands.start('sleep 60');
    command.disconnect();
    expect(plain(await recorded.only('commands.start'))).toMatchObject({
      status: 'UNSET',
      events: [{ name: 'started' }, { name: 'disconnected' }],
    });
    await command.kill();
  });

  it('hold the attempts that were refused as events', async () => {
    let refusals = 1;
    const fetch = async (request: Request, init?: RequestInit) =>
      request.method === 'POST' && refusals-- > 0
        ? json(429, { code: 429, message: 'slow down' }, { 'retry-after': '0' })
        : globalThis.fetch(request, init);
    const own = await traced({ fetch }).sandboxes.create();
    await own.kill();
    expect(plain(await recorded.only('sandboxes.create'))).toMatchObject({
      status: 'UNSET',
      attributes: { 'http.response.status_code': 201, 'http.request.resend_count': 1 },
      events: [{ name: 'retry', 'svc.attempt': 1, 'http.response.status_code': 429 }],
    });
  });

  it('name the code of an error, not its message', async () => {
    const missing = sandbox.files.read('/no/such/never-shown');
    await expect(missing).rejects.toMatchObject({ code: 'file_not_found' });
    const span = plain(await recorded.only('files.read'));
    expect(span).toMatchObject({
      status: 'ERROR',
      message: 'file_not_found',
      attributes: { 'http.response.status_code': 404, 'error.type': 'file_not_found' },
    });
    expect(recorded.text()).not.toContain('never-shown');
  });

  it('last until a stream was read, and count what came', async () => {
    await sandbox.files.write('stream.bin', new Uint8Array(300_000));
    const stream = await sandbox.files.read('stream.bin', { format: 'stream' });
    expect(recorded.finished('files.read')).toEqual([]);
    for await (const _ of stream as unknown as AsyncIterable<Uint8Array>);
    expect(plain(await recorded.only('files.read'))).toMatchObject({
      status: 'UNSET',
      attributes: { 'svc.io.received': 300_000 },
    });
  });

  it('reach the program of a command as TRACEPARENT', async () => {
    const { stdout } = await sandbox.commands.run('echo "$TRACEPARENT"');
    const { traceId, spanId } = (await recorded.only('commands.run')).spanContext();
    expect(stdout).toBe(`00-${traceId}-${spanId}-01\n`);
    const own = await sandbox.commands.run('echo "$TRACEPARENT"', { envs: { TRACEPARENT: 'mine' } });
    expect(own.stdout).toBe('mine\n');
  });

  it('reach a server inside the sandbox, through the gateway, without the baggage', async () => {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    await sandbox.files.write('echo.cjs', echo.replace('PORT', String(port)));
    const server = await sandbox.commands.start('node echo.cjs');
    await sandbox.waitForPort(port);
    recorded.forget();
    const baggage = propagation.createBaggage({ user: { value: 'never-shown' } });
    const answer = await context.with(propagation.setBaggage(context.active(), baggage), () =>
      sandbox.fetch(port, '/', { headers: { tracestate: 'own=1' } }),
    );
    const seen = (await answer.json()) as Record<string, string>;
    const { traceId, spanId } = (await recorded.only('sandbox.fetch')).spanContext();
    expect(seen.traceparent).toBe(`00-${traceId}-${spanId}-01`);
    expect(seen.tracestate).toBe('own=1');
    expect(seen.baggage).toBeUndefined();
    await server.kill();
    await server.wait({ check: false });
  });

  it('hold the command line when that is wanted, and no more than its start', async () => {
    const id = sandbox.sandboxId;
    const own = await traced({}, { commandLine: true }).sandboxes.get(id);
    await own.commands.run(`true ${'x'.repeat(5000)}`);
    const { 'process.command_line': line } = plain(await recorded.only('commands.run')).attributes;
    expect(line).toMatch(/^true x+$/);
    expect(String(line)).toHaveLength(1024);
  });

  it('come with metrics', async () => {
    await sandbox.commands.run('exit 3', { check: false });
    await sandbox.files.write('metric.txt', 'four');
    await recorded.only('files.write');
    const metrics = await recorded.metrics();
    expect(Object.keys(metrics).sort()).toEqual([
      'svc.client.command.duration',
      'svc.client.commands',
      'svc.client.io',
      'svc.client.request.duration',
      'svc.client.retries',
    ]);
    expect(metrics['svc.client.command.duration']).toContainEqual(
      expect.objectContaining({
        attributes: {
          'svc.operation': 'commands.run',
          'svc.service': 'sandbox',
          'error.type': 'command_exit',
        },
      }),
    );
    expect(metrics['svc.client.commands']).toEqual([{ value: 0, attributes: {} }]);
    expect(JSON.stringify(metrics)).not.toContain(sandbox.sandboxId);
  });
});
