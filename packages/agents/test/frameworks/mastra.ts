import { Agent } from '@mastra/core/agent';
import { Workspace } from '@mastra/core/workspace';
import { expect, it } from 'vitest';
import { SvcFilesystem, SvcSandbox, sandboxTools, ToolSandboxes } from '../../src/mastra/index.js';
import { scriptedModel, textsOf, toldTo } from '../support/ai-model.js';
import { endless, SCRIPT, TOLD } from '../support/script.js';
import { untilBegun, untilKilled, withService } from '../support/service.js';

const service = withService();
const base = { id: 'coder', name: 'Coder', instructions: 'You write programs.' };

it('a model writes, fails, repairs and reads', async () => {
  await using sandboxes = new ToolSandboxes({ client: service.client });
  const model = scriptedModel(SCRIPT);
  const agent = new Agent({ ...base, model: model as never, tools: sandboxTools(sandboxes) });
  const { text } = await agent.generate('Which are the first squares?', { maxSteps: 20 });
  expect(text).toBe('done');
  const told = textsOf(toldTo(model));
  expect(told).toHaveLength(TOLD.length);
  for (const [index, said] of told.entries()) expect(said).toMatch(TOLD[index]!);
});

it('images are returned as images, and arguments that do not fit in words', async () => {
  await using sandbox = await service.client.sandboxes.create();
  await sandbox.files.write('dot.png', new Uint8Array([137, 80, 78, 71]));
  const model = scriptedModel([
    { tool: 'read_file', input: { path: 'dot.png' } },
    { tool: 'read_file', input: { path: { no: 'path' } } },
  ]);
  await new Agent({ ...base, model: model as never, tools: sandboxTools(sandbox) }).generate('Look.', {
    maxSteps: 5,
  });
  const [image, refused] = toldTo(model).map((output) => JSON.stringify(output));
  expect(image).toContain('iVBORw==');
  expect(image).toContain('image/png');
  expect(refused).toMatch(/path/);
});

it('aborting a run kills the command', async () => {
  await using sandboxes = new ToolSandboxes({ client: service.client });
  const sandbox = await sandboxes.use();
  const { asked, line } = endless();
  const abort = new AbortController();
  const agent = new Agent({
    ...base,
    model: scriptedModel([asked]) as never,
    tools: sandboxTools(sandboxes),
  });
  const run = agent.generate('Wait.', { abortSignal: abort.signal }).catch(() => undefined);
  await untilBegun(sandbox, line);
  abort.abort(new Error('enough'));
  await run;
  await untilKilled(sandbox, line);
});

it('an agent works in a workspace that is a sandbox, which ends with it', async () => {
  const sandboxes = new ToolSandboxes({ client: service.client });
  const workspace = new Workspace({
    sandbox: new SvcSandbox(sandboxes),
    filesystem: new SvcFilesystem(sandboxes),
  });
  const tool = (name: string, input: Record<string, unknown>) => ({
    tool: `mastra_workspace_${name}`,
    input,
  });
  const model = scriptedModel([
    tool('write_file', { path: 'squares.py', content: 'print([n * n for n in range(8) if missing])\n' }),
    tool('execute_command', { command: 'python3 squares.py' }),
    tool('read_file', { path: 'squares.py' }),
    tool('edit_file', { path: 'squares.py', old_string: ' if missing', new_string: '' }),
    tool('execute_command', { command: 'python3 squares.py | tee squares.txt' }),
    tool('list_files', { path: '.' }),
    tool('read_file', { path: 'missing.txt' }),
    tool('execute_command', { command: 'echo begun; sleep 30', timeout: 1 }),
  ]);
  const agent = new Agent({ ...base, model: model as never, workspace });
  await agent.generate('Which are the first squares?', { maxSteps: 20 });
  const told = toldTo(model).map((output) => JSON.stringify(output));
  const expected = [
    /squares\.py/,
    /NameError[\s\S]*Exit code: 1/,
    /missing/,
    /squares\.py/,
    /\[0, 1, 4, 9, 16, 25, 36, 49\]/,
    /squares\.txt/,
    /missing\.txt/,
    /begun[\s\S]*Exit code: 124/,
  ];
  expect(told).toHaveLength(expected.length);
  for (const [index, said] of told.entries()) expect(said).toMatch(expected[index]!);
  const { id } = await sandboxes.use();
  await workspace.destroy();
  expect((await service.client.sandboxes.list().toArray()).map(({ sandboxId }) => sandboxId)).not.toContain(
    id,
  );
});

it('a workspace starts programs in the background, feeds, watches and kills them', async () => {
  await using sandbox = await service.client.sandboxes.create();
  const { processes, networking, writeFiles } = new SvcSandbox(sandbox);
  const cat = await processes!.spawn('cat; echo end >&2; exit 3', { env: { LEFT: undefined } });
  await cat.sendStdin('through');
  await cat.closeStdin();
  expect(await cat.wait()).toMatchObject({ exitCode: 3, stdout: 'through', stderr: 'end\n', success: false });
  const loud = await processes!.spawn('yes | head -c 20000000', { stdinMode: 'ignore' });
  const { stdout, exitCode } = await loud.wait();
  expect(exitCode).toBe(0);
  expect(stdout.length).toBeLessThan(9_000_000);
  const { line } = endless();
  const abort = new AbortController();
  const endlessProcess = await processes!.spawn(`exec ${line}`, { abortSignal: abort.signal });
  await untilBegun(sandbox, line);
  expect(await processes!.list()).toContainEqual(
    expect.objectContaining({ pid: endlessProcess.pid, running: true }),
  );
  abort.abort();
  expect(await endlessProcess.wait()).toMatchObject({ killed: true, success: false });
  await untilKilled(sandbox, line);
  expect(await networking!.getPortUrl(8000)).toBe(sandbox.url(8000));
  await writeFiles!.call(new SvcSandbox(sandbox), [{ path: 'run me.sh', content: 'echo ran', mode: 0o755 }]);
  expect((await sandbox.commands.run('"./run me.sh"')).stdout).toBe('ran\n');
});

it('a file system says what is missing, in the way, or of another kind', async () => {
  await using sandbox = await service.client.sandboxes.create();
  const files = new SvcFilesystem(sandbox);
  await files.writeFile('a/one.txt', 'one');
  await files.appendFile('a/one.txt', ' and more');
  await files.appendFile("b/it's new.txt", new Uint8Array([0x68, 0x69]));
  expect(await files.readFile('a/one.txt', { encoding: 'utf-8' })).toBe('one and more');
  expect(await files.readFile("b/it's new.txt")).toEqual(Buffer.from('hi'));
  await files.copyFile('a/one.txt', 'c/two.txt');
  await files.copyFile('a', 'd', { recursive: true });
  await files.moveFile('c/two.txt', 'c/three.md');
  const names = async (options: object) =>
    (await files.readdir('.', options)).map(({ name }) => name).filter((name) => /^[a-d](\/|$)/.test(name));
  expect(await names({ recursive: true })).toEqual([
    'a',
    'a/one.txt',
    'b',
    "b/it's new.txt",
    'c',
    'c/three.md',
    'd',
    'd/one.txt',
  ]);
  expect(await names({ recursive: true, extension: '.md' })).toEqual(['a', 'b', 'c', 'c/three.md', 'd']);
  const { type, size, modifiedAt } = await files.stat('a/one.txt');
  expect([type, size]).toEqual(['file', 12]);
  const codes = await Promise.all(
    [
      files.readFile('no'),
      files.readFile('a'),
      files.writeFile('a', 'x'),
      files.writeFile('a/one.txt', 'x', { overwrite: false }),
      files.writeFile('a/one.txt', 'x', { expectedMtime: new Date(modifiedAt.getTime() - 1000) }),
      files.deleteFile('no'),
      files.copyFile('no', 'x'),
      files.copyFile('a', 'x'),
      files.readdir('no'),
      files.readdir('a/one.txt'),
      files.rmdir('a'),
      files.rmdir('a/one.txt'),
      files.mkdir('no/such', { recursive: false }),
      files.stat('no'),
    ].map((call) =>
      (call as Promise<unknown>).then(
        () => 'done',
        ({ code }: { code: string }) => code,
      ),
    ),
  );
  expect(codes).toEqual([
    'ENOENT',
    'EISDIR',
    'EISDIR',
    'EEXIST',
    'ESTALE',
    'ENOENT',
    'ENOENT',
    'EISDIR',
    'ENOENT',
    'ENOTDIR',
    'ENOTEMPTY',
    'ENOTDIR',
    'ENOENT',
    'ENOENT',
  ]);
  await files.mkdir('e/f');
  await files.rmdir('e', { recursive: true });
  await files.deleteFile('no', { force: true });
  expect(await files.exists('e')).toBe(false);
});
