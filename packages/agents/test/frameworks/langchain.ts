import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages';
import { createDeepAgent, isSandboxBackend } from 'deepagents';
import { createAgent, fakeModel } from 'langchain';
import { expect, it } from 'vitest';
import { SandboxBackend } from '../../src/deepagents/index.js';
import { sandboxTools, ToolSandboxes } from '../../src/langchain/index.js';
import { type Asked, endless, SCRIPT, TOLD } from '../support/script.js';
import { untilBegun, untilKilled, withService } from '../support/service.js';

const service = withService();

/** Asks for one call a turn, then says "done". */
function scriptedModel(script: readonly Asked[]) {
  const model = fakeModel();
  for (const [index, { tool, input }] of script.entries())
    model.respondWithTools([{ name: tool, args: input, id: `call-${index}` }]);
  return model.respond(new AIMessage('done'));
}

/** Returns the answers of tools to the model, in order. */
const toldTo = (messages: BaseMessage[]) =>
  messages.filter((message): message is ToolMessage => ToolMessage.isInstance(message));

it('a model writes, fails, repairs and reads', async () => {
  await using sandboxes = new ToolSandboxes({ client: service.client });
  const agent = createAgent({ model: scriptedModel(SCRIPT), tools: sandboxTools(sandboxes) });
  const { messages } = await agent.invoke(
    { messages: [{ role: 'user', content: 'Which are the first squares?' }] },
    { recursionLimit: 50 },
  );
  expect(messages.at(-1)!.text).toBe('done');
  const told = toldTo(messages);
  expect(told).toHaveLength(TOLD.length);
  for (const [index, message] of told.entries()) expect(message.text).toMatch(TOLD[index]!);
  expect(told.map(({ status }) => status === 'error')).toEqual([
    false,
    false,
    true,
    true,
    false,
    false,
    false,
  ]);
});

it('images are returned as images, and arguments that do not fit in words', async () => {
  await using sandbox = await service.client.sandboxes.create();
  await sandbox.files.write('dot.png', new Uint8Array([137, 80, 78, 71]));
  const agent = createAgent({
    model: scriptedModel([
      { tool: 'read_file', input: { path: 'dot.png' } },
      { tool: 'read_file', input: { path: { no: 'path' } } },
    ]),
    tools: sandboxTools(sandbox),
  });
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'Look.' }] });
  const [image, refused] = toldTo(messages);
  expect(image!.contentBlocks).toMatchObject([{ type: 'image', data: 'iVBORw==', mimeType: 'image/png' }]);
  expect(refused).toMatchObject({ status: 'error' });
  expect(refused!.text).toMatch(/path/);
  const [run] = sandboxTools(sandbox, { tools: ['run_command'] });
  expect(await run!.invoke({ command: 'echo direct' })).toBe('exit code: 0\nstdout:\ndirect\n');
  await expect(run!.invoke({ command: 'sleep 9', timeout_seconds: 1 })).rejects.toThrow('longer than 1 s');
});

it('aborting a run kills the command', async () => {
  await using sandboxes = new ToolSandboxes({ client: service.client });
  const sandbox = await sandboxes.use();
  const { asked, line } = endless();
  const abort = new AbortController();
  const agent = createAgent({ model: scriptedModel([asked]), tools: sandboxTools(sandboxes) });
  const run = agent.invoke(
    { messages: [{ role: 'user', content: 'Wait.' }] },
    { signal: abort.signal, recursionLimit: 9 },
  );
  const failed = expect(run).rejects.toThrow();
  await untilBegun(sandbox, line);
  abort.abort(new Error('enough'));
  await failed;
  await untilKilled(sandbox, line);
});

it('a deep agent works with files and commands in a sandbox', async () => {
  await using sandbox = await service.client.sandboxes.create();
  const { stdout } = await sandbox.commands.run('pwd');
  const home = stdout.trim();
  const backend = new SandboxBackend(sandbox);
  expect(isSandboxBackend(backend)).toBe(true);
  const file = `${home}/squares.py`;
  const model = scriptedModel([
    {
      tool: 'write_file',
      input: { file_path: file, content: 'print([n * n for n in range(8) if missing])\n' },
    },
    { tool: 'execute', input: { command: `python3 ${file}` } },
    { tool: 'edit_file', input: { file_path: file, old_string: ' if missing', new_string: '' } },
    { tool: 'execute', input: { command: `python3 ${file} > ${home}/squares.txt; echo over >&2` } },
    { tool: 'read_file', input: { file_path: `${home}/squares.txt` } },
    { tool: 'ls', input: { path: home } },
    { tool: 'grep', input: { pattern: 'range', path: home } },
    { tool: 'read_file', input: { file_path: `${home}/missing.txt` } },
  ]);
  const agent = createDeepAgent({ model, backend, systemPrompt: `Work in ${home}.` });
  const { messages } = await agent.invoke(
    { messages: [{ role: 'user', content: 'Which are the first squares?' }] },
    { recursionLimit: 100 },
  );
  const told = toldTo(messages).map(({ text }) => text);
  const expected = [
    /squares\.py/,
    /NameError/,
    /squares\.py/,
    /over/,
    /\[0, 1, 4, 9, 16, 25, 36, 49\]/,
    /squares\.py[\s\S]*squares\.txt/,
    /squares\.py/,
    /not found/,
  ];
  expect(told).toHaveLength(expected.length);
  for (const [index, text] of told.entries()) expect(text).toMatch(expected[index]!);
});

it('a backend says for each file why it could not be moved, and what became of a command', async () => {
  await using sandbox = await service.client.sandboxes.create();
  const { stdout } = await sandbox.commands.run('mkdir taken; pwd');
  const home = stdout.trim();
  const abort = new AbortController();
  const backend = new SandboxBackend(sandbox, { timeoutMs: 2_000, signal: abort.signal });
  const one = new Uint8Array([1]);
  const uploads: [string, Uint8Array][] = [
    [`${home}/new/one.bin`, one],
    [`${home}/taken`, one],
  ];
  expect(await backend.uploadFiles(uploads)).toEqual([
    { path: `${home}/new/one.bin`, error: null },
    { path: `${home}/taken`, error: 'is_directory' },
  ]);
  const down = await backend.downloadFiles([`${home}/new/one.bin`, `${home}/no`, `${home}/taken`]);
  expect(down.map(({ content, error }) => [content?.length ?? 0, error])).toEqual([
    [1, null],
    [0, 'file_not_found'],
    [0, 'is_directory'],
  ]);
  expect(await backend.execute('echo a; echo b >&2; exit 3')).toEqual({
    output: 'a\nb\n',
    exitCode: 3,
    truncated: false,
  });
  expect(await backend.execute('head -c 3000000 /dev/zero | tr "\\0" x')).toMatchObject({ truncated: true });
  expect(await backend.execute('echo begun; sleep 30')).toMatchObject({
    output: expect.stringMatching(/begun\n[\s\S]*ran longer than 2 s/),
    exitCode: null,
  });
  const { line } = endless();
  const failed = expect(
    new SandboxBackend(sandbox, { signal: abort.signal }).execute(`exec ${line}`),
  ).rejects.toThrow('enough');
  await untilBegun(sandbox, line);
  abort.abort(new Error('enough'));
  await failed;
  await untilKilled(sandbox, line);
});
