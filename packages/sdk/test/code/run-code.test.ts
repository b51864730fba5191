import { TestService } from '@svc/testing';
import { expect, it } from 'vitest';
import {
  ConnectionError,
  InvalidRequestError,
  RateLimitError,
  ServerError,
  TimeoutError,
} from '../../src/index.js';

/** A sandbox whose interpreter server answers with this. */
async function sandboxAnswering(answer: (request: Request) => Response | Promise<Response>) {
  const service = new TestService().onPort(49_999, answer);
  return { sandbox: await service.client().sandboxes.create() };
}

const lines = (...events: unknown[]) =>
  new Response(events.map((event) => (typeof event === 'string' ? event : JSON.stringify(event))).join('\n'));
const end = { type: 'end_of_execution' };

it('sends a cell as the wire has it, and nothing that was not given', async () => {
  const cells: unknown[] = [];
  const { sandbox } = await sandboxAnswering(async (request) => {
    cells.push(await request.json());
    return lines(end);
  });
  await sandbox.runCode('1');
  await sandbox.runCode('1', { language: 'bash', envs: { A: 'b' } });
  await sandbox.runCode('1', { context: { id: 'c', language: 'python', cwd: '/' } });
  expect(cells).toEqual([
    { code: '1' },
    { code: '1', language: 'bash', env_vars: { A: 'b' } },
    { code: '1', context_id: 'c' },
  ]);
});

it('gathers a cell in the order of its events, and waits for callbacks', async () => {
  const { sandbox } = await sandboxAnswering(() =>
    lines(
      { type: 'number_of_executions', execution_count: 4 },
      { type: 'stdout', text: 'a' },
      { type: 'something of later' },
      { type: 'result', text: 'shown' },
      { type: 'stdout', text: 'b' },
      { type: 'result', text: 'value', is_main_result: true },
      { type: 'error', name: 'E', value: 'v', traceback: 't' },
      end,
      { type: 'stdout', text: 'after the end' },
    ),
  );
  const seen: string[] = [];
  const execution = await sandbox.runCode('', {
    onStdout: async (text) => {
      await Promise.resolve();
      seen.push(text);
    },
    onResult: ({ text }) => void seen.push(text ?? ''),
    onError: ({ name }) => void seen.push(name),
  });
  expect(seen).toEqual(['a', 'shown', 'b', 'value', 'E']);
  expect(execution).toMatchObject({
    text: 'value',
    logs: { stdout: 'ab', stderr: '' },
    error: { name: 'E', value: 'v', traceback: 't' },
    executionCount: 4,
  });
});

it('calls a kernel that ended without a word an error', async () => {
  const { sandbox } = await sandboxAnswering(() => lines({ type: 'unexpected_end_of_execution' }));
  expect((await sandbox.runCode('1')).error).toMatchObject({ name: 'KernelDied' });
});

it('distinguishes an answer that breaks off from a cell that ended', async () => {
  const { sandbox } = await sandboxAnswering(() => lines({ type: 'stdout', text: 'a' }));
  const error = await sandbox.runCode('1').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error).toMatchObject({ message: expect.stringContaining('ended before the cell did') });
});

it.each([
  ['<html>', 'not JSON'],
  ['[1]', 'not an object'],
])('refuses a server that answers %s', async (line, reason) => {
  const { sandbox } = await sandboxAnswering(() => lines(line));
  const error = await sandbox.runCode('1').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ServerError);
  expect(error).toMatchObject({
    code: 'not_an_interpreter',
    retryable: false,
    message: expect.stringContaining(reason),
  });
  await expect(sandbox.codeContexts.create()).rejects.toMatchObject({ code: 'not_an_interpreter' });
  await expect(sandbox.codeContexts.list()).rejects.toMatchObject({ code: 'not_an_interpreter' });
});

it('takes no endless line, and no endless answer, from a program that took the place of the server', async () => {
  for (const piece of ['x'.repeat(65_536), `{"type":"stdout","text":"${'x'.repeat(60_000)}"}\n`]) {
    let cancelled = false;
    const endless = () =>
      new Response(
        new ReadableStream<Uint8Array>({
          pull: (controller) => controller.enqueue(new TextEncoder().encode(piece)),
          cancel: () => void (cancelled = true),
        }),
      );
    const { sandbox } = await sandboxAnswering(endless);
    const flood = sandbox.runCode('1', { maxOutputBytes: 1_000_000 });
    await expect(flood).rejects.toMatchObject({ code: 'output_too_large' });
    expect(cancelled).toBe(true);
    await expect(sandbox.codeContexts.list()).rejects.toMatchObject({ code: 'not_an_interpreter' });
  }
});

it('throws what refusals mean', async () => {
  const answers = [
    new Response('Context limit reached (64 of 64).', { status: 429 }),
    new Response('code is missing.', { status: 400 }),
  ];
  const { sandbox } = await sandboxAnswering(() => answers.shift()!);
  await expect(sandbox.codeContexts.create()).rejects.toBeInstanceOf(RateLimitError);
  await expect(sandbox.runCode('1')).rejects.toBeInstanceOf(InvalidRequestError);
});

it('ends a cell at its time limit', async () => {
  const { sandbox } = await sandboxAnswering(() => new Response(new ReadableStream()));
  const error = await sandbox.runCode('1', { timeoutMs: 20 }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error).toMatchObject({ option: 'timeoutMs', limitMs: 20 });
});
