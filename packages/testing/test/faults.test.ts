import { CapacityError, ConnectionError, RateLimitError, SandboxGoneError } from '@svc/sdk';
import { expect, it } from 'vitest';
import { TestService } from '../src/index.js';

const countOf = (service: TestService, operation: string) =>
  service.requests.filter((request) => request.operation === operation).length;

it('refuses as often as asked, and lets the rest through', async () => {
  await using service = new TestService();
  const fault = service.faults.add({ operation: 'createSandboxV2', times: 2, status: 429 });
  await service.client().sandboxes.create();
  expect([fault.count, countOf(service, 'createSandboxV2')]).toEqual([2, 3]);
  service.faults.add({ operation: 'listSandboxesV2', status: 429, retryAfterSeconds: 3600 });
  await expect(service.client().sandboxes.list()).rejects.toThrow(RateLimitError);
});

it.each(['sandbox_capacity_unavailable', 'sandbox_no_compatible_node'])(
  'fails with the error code %s',
  async (errorCode) => {
    await using service = new TestService();
    service.faults.add({ operation: 'createSandboxV2', status: 503, errorCode });
    const failure = await service
      .client()
      .sandboxes.create()
      .catch((error: unknown) => error);
    expect(CapacityError.is(failure)).toBe(true);
    expect(failure).toMatchObject({ errorCode, status: 503 });
  },
);

it('breaks connections before, during and after an answer', async () => {
  await using service = new TestService();
  const { sandboxes } = service.client({ maxRetries: 0 });
  const { files } = await sandboxes.create();
  await files.write('x', 'partial content');
  for (const fault of [{ connection: 'refused' }, { connection: 'reset' }, { cutAfterBytes: 4 }] as const) {
    service.faults.add({ operation: 'readFile', ...fault });
    await expect(files.read('x')).rejects.toThrow(ConnectionError);
  }
  service.faults.add({ operation: 'readFile', cutAfterBytes: 7 });
  const reader = (await files.read('x', { format: 'stream' })).getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('partial');
  await expect(reader.read()).rejects.toThrow(ConnectionError);
  expect(await files.read('x')).toBe('partial content');
});

it('creates one sandbox when only the answer to the create was lost', async () => {
  await using service = new TestService();
  service.faults.add({ operation: 'createSandboxV2', connection: 'reset', carriedOut: true });
  const { id } = await service.client().sandboxes.create({ idempotencyKey: 'once' });
  expect(countOf(service, 'createSandboxV2')).toBe(2);
  expect(service.sandboxes.map((sandbox) => sandbox.id)).toEqual([id]);
});

it('drops a stream in the middle of the output, and nothing is lost', async () => {
  await using service = new TestService();
  service.onCommand('long', { stdout: ['before ', 'after'] });
  const sandbox = await service.client().sandboxes.create();
  service.faults.add({ operation: 'process.Process/Start', cutAfterBytes: 9 });
  const command = await sandbox.commands.start('long');
  expect(await command.wait()).toMatchObject({ exitCode: 0, stdout: 'before after' });
  expect([command.reattached, countOf(service, 'process.Process/Connect')]).toEqual([1, 1]);
});

it('loses output that was not kept long enough', async () => {
  await using service = new TestService();
  service.onCommand('long', { stdout: 'before 1234567 after' });
  const sandbox = await service.client().sandboxes.create();
  service.faults.add({ command: 'long', cutAfterBytes: 6, loseBytes: 8 });
  await expect(sandbox.commands.run('long')).rejects.toMatchObject({
    name: 'OutputLostError',
    lostBytes: 8,
    stdout: 'before after',
  });
});

it.each(['killed', 'paused', 'expired', 'crashed'] as const)(
  'has a sandbox %s just before a command',
  async (fate) => {
    await using service = new TestService();
    service.onCommand(/^step/, { stdout: 'ok' });
    const sandbox = await service.client().sandboxes.create();
    service.faults.add({ command: /^step 2/, sandbox: fate });
    expect((await sandbox.commands.run('step 1')).stdout).toBe('ok');
    await expect(sandbox.commands.run('step 2')).rejects.toThrow(SandboxGoneError);
    expect(service.sandbox(sandbox.id).state).toBe(fate === 'paused' ? 'paused' : 'gone');
  },
);

it('is slow by the clock of the test, or in real time', async () => {
  await using service = new TestService();
  const { sandboxes } = service.client();
  service.faults.add({ operation: 'createSandboxV2', latencyMs: 30_000 });
  service.faults.add({ operation: 'getSandbox', latencyMs: 1, realTime: true });
  let made = false;
  const creating = sandboxes.create().then((sandbox) => {
    made = true;
    return sandbox;
  });
  await service.clock.advance(29_000);
  expect(made).toBe(false);
  await service.clock.advance(1_000);
  const { id } = await creating;
  await sandboxes.get(id);
});

it('chooses by sandbox, by count, and until it is taken back', async () => {
  await using service = new TestService();
  const { sandboxes } = service.client({ maxRetries: 0 });
  const [one, other] = [await sandboxes.create(), await sandboxes.create()];
  const fault = service.faults.add({ sandboxId: one.id, status: 500, after: 1, times: Infinity });
  await one.info();
  await expect(one.info()).rejects.toMatchObject({ status: 500 });
  await other.info();
  await expect(one.files.list('.')).rejects.toThrow(/A fault of the test: status 500/);
  fault.remove();
  await one.info();
  expect(fault.count).toBe(2);
});

it.each([
  [{ operation: 'createSandbxV2', status: 500 }, /no operation 'createSandbxV2'.*mean 'createSandboxV2'/],
  [{ operation: 'killSandbox' }, /nothing goes wrong/],
  [{ status: 200 }, /from 400 to 599/],
  [{ status: 500, connection: 'reset' }, /only one of/],
  [{ times: 0, status: 500 }, /'times' is at least 1/],
  [{ operation: 'killSandbox', command: 'x', status: 500 }, /'command' goes with/],
] as const)('refuses the fault %o, which could never happen', (fault, text) => {
  expect(() => new TestService().faults.add(fault as never)).toThrow(text);
});
