import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { generateText, isStepCount, streamText, type ToolSet, tool } from 'ai';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createSandboxSession, sandboxTools, ToolSandboxes } from '../src/ai-sdk/index.js';
import { scriptedModel, textsOf, toldTo } from './support/ai-model.js';
import { endless, SCRIPT, TOLD } from './support/script.js';
import { untilBegun, untilKilled, withService } from './support/service.js';
import { typeErrors } from './support/type-errors.js';

const service = withService();
it.each(['generateText', 'streamText'])('a model of %s writes, fails, repairs and reads', async (way) => {
  await using sandboxes = new ToolSandboxes({ client: service.client });
  const model = scriptedModel(SCRIPT);
  const options = {
    model,
    tools: sandboxTools(sandboxes),
    stopWhen: isStepCount(20),
    prompt: 'Which are the first squares?',
  };
  const said = way === 'generateText' ? (await generateText(options)).text : await streamText(options).text;
  expect(said).toBe('done');
  const told = toldTo(model);
  for (const [index, text] of textsOf(told).entries()) expect(text).toMatch(TOLD[index]!);
  expect(told.map(({ type }) => type)).toEqual([
    'text',
    'text',
    'error-text',
    'error-text',
    'text',
    'text',
    'text',
  ]);
});

it('aborting a generation kills the command', async () => {
  await using sandboxes = new ToolSandboxes({ client: service.client });
  const sandbox = await sandboxes.use();
  const { asked, line } = endless();
  const abort = new AbortController();
  const generation = generateText({
    model: scriptedModel([asked]),
    tools: sandboxTools(sandboxes),
    prompt: 'Wait.',
    stopWhen: isStepCount(3),
    abortSignal: abort.signal,
  });
  const failed = expect(generation).rejects.toThrow('enough');
  await untilBegun(sandbox, line);
  abort.abort(new Error('enough'));
  await failed;
  await untilKilled(sandbox, line);
});

it('images are returned as images, and tools of one sandbox make no other', async () => {
  await using sandbox = await service.client.sandboxes.create();
  const dot =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  await sandbox.files.write('dot.png', Buffer.from(dot, 'base64'));
  const tools = sandboxTools(sandbox, { tools: ['read_file', 'create_sandbox'] });
  expect(Object.keys(tools)).toEqual(['read_file']);
  const model = scriptedModel([{ tool: 'read_file', input: { path: 'dot.png' } }]);
  await generateText({ model, tools, prompt: 'Look.', stopWhen: isStepCount(3) });
  const [{ tools: asked }] = model.doGenerateCalls as [(typeof model.doGenerateCalls)[0]];
  expect(JSON.stringify(asked)).not.toContain('create_sandbox');
  expect(toldTo(model)).toMatchObject([
    {
      type: 'content',
      value: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: dot } }],
    },
  ]);
  expect((await sandbox.info()).state).toBe('running');
});

it('tools that are written for a sandbox session work in a sandbox', async () => {
  await using sandbox = await service.client.sandboxes.create();
  const shell = tool({
    description: ({ experimental_sandbox: session }) => `Runs a line. ${session?.description}`,
    inputSchema: z.object({ line: z.string() }),
    execute: ({ line }, { experimental_sandbox: session, abortSignal }) =>
      session!.run({ command: line, env: { WHO: 'model' }, ...(abortSignal && { abortSignal }) }),
  });
  const model = scriptedModel([{ tool: 'shell', input: { line: 'echo $WHO; pwd; exit 3' } }]);
  await generateText({
    model,
    tools: { shell } as ToolSet,
    prompt: 'Go.',
    stopWhen: isStepCount(3),
    experimental_sandbox: createSandboxSession(sandbox),
  });
  expect(JSON.stringify(model.doGenerateCalls[0]!.tools)).toContain('An isolated Linux sandbox');
  expect(toldTo(model)).toMatchObject([
    { type: 'json', value: { exitCode: 3, stdout: expect.stringMatching(/^model\n\//), stderr: '' } },
  ]);
});

it('a sandbox session reads, writes, lists, deletes and spawns as its interface says', async () => {
  await using sandbox = await service.client.sandboxes.create();
  const session = createSandboxSession(sandbox);
  await session.writeTextFile({ path: 'a/b.txt', content: 'one\ntwo\nthree\n' });
  await session.writeBinaryFile({ path: 'a/c.bin', content: new Uint8Array([1, 2]) });
  await session.writeFile({ path: 'a/d.txt', content: new Response('streamed').body! });
  await session.writeTextFile({ path: 'a/e.txt', content: 'ä', encoding: 'latin1' });
  expect(await session.readTextFile({ path: 'a/b.txt', startLine: 2, endLine: 2 })).toBe('two');
  expect(await session.readTextFile({ path: 'a/b.txt', startLine: 3, endLine: 99 })).toBe('three\n');
  expect(await session.readTextFile({ path: 'a/e.txt', encoding: 'latin1' })).toBe('ä');
  expect(await session.readBinaryFile({ path: 'a/c.bin' })).toEqual(new Uint8Array([1, 2]));
  expect(await new Response(await session.readFile({ path: 'a/d.txt' })).text()).toBe('streamed');
  await session.run({ command: 'ln -s b.txt a/link' });
  const listed = await session.listDirectory({ path: 'a' });
  expect(listed!.map(({ name, type }) => `${name} ${type}`).sort()).toEqual([
    'b.txt file',
    'c.bin file',
    'd.txt file',
    'e.txt file',
    'link symlink',
  ]);
  expect(await session.stat({ path: 'a/link' })).toEqual({ type: 'file', size: 14 });
  expect(await session.deleteFile({ path: 'a/link' })).toBe(true);
  expect(await session.deleteFile({ path: 'a/link' })).toBe(false);
  await expect(session.deleteFile({ path: 'a' })).rejects.toThrow('is a directory');
  await expect(session.listDirectory({ path: 'a/b.txt' })).rejects.toThrow();
  for (const missing of [session.readFile, session.readTextFile, session.stat, session.listDirectory])
    expect(await missing({ path: 'no/such' })).toBeNull();

  const cat = await session.spawn({
    command: 'cat; echo end >&2; exit 4',
    stdin: true,
    workingDirectory: 'a',
  });
  const writer = cat.stdin.getWriter();
  await writer.write(new TextEncoder().encode('through'));
  await writer.close();
  expect(await new Response(cat.stdout).text()).toBe('through');
  expect(await new Response(cat.stderr).text()).toBe('end\n');
  expect(await cat.wait()).toEqual({ exitCode: 4 });
  await cat.kill();

  const { asked, line } = endless();
  const abort = new AbortController();
  const spawned = await session.spawn({
    command: String(asked.input.command),
    abortSignal: abort.signal,
  });
  expect('stdin' in spawned).toBe(false);
  await untilBegun(sandbox, line);
  const stopped = expect(spawned.wait()).rejects.toThrow('enough');
  abort.abort(new Error('enough'));
  await stopped;
  await untilKilled(sandbox, line);
});

it('the documentation has the types of the AI SDK', () => {
  const cache = fileURLToPath(new URL('../../../node_modules/.cache', import.meta.url));
  mkdirSync(cache, { recursive: true });
  expect(typeErrors('ai-sdk', cache)).toBe('');
});
