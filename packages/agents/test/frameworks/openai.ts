import { Agent, applyPatchTool, run, setTracingDisabled, shellTool } from '@openai/agents';
import { filesystem, SandboxAgent, shell } from '@openai/agents/sandbox';
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from '@openai/agents/testing';
import { expect, it } from 'vitest';
import {
  createSandboxSession,
  sandboxEditor,
  sandboxShell,
  sandboxTools,
  ToolSandboxes,
} from '../../src/openai/index.js';
import { type Asked, endless, SCRIPT, TOLD } from '../support/script.js';
import { untilBegun, untilKilled, withService } from '../support/service.js';

const service = withService();
setTracingDisabled(true);

/** Asks for one call a turn, then says "done". */
function scriptedModel(script: readonly Asked[]): ScriptedModel {
  const calls = script.map(({ tool, input }, index) => [
    functionCall(tool, input, { callId: `call-${index}` }),
  ]);
  return new ScriptedModel([...calls, [assistantMessage('done')]]);
}

/** Returns the answers of tools to the model, in order. */
function toldTo(model: ScriptedModel): unknown[] {
  const { input } = model.lastCall!.request;
  if (typeof input === 'string') return [];
  return input.flatMap((item) => ('output' in item ? [item.output] : []));
}

it('a model writes, fails, repairs and reads', async () => {
  await using sandboxes = new ToolSandboxes({ client: service.client });
  const model = scriptedModel(SCRIPT);
  const agent = new Agent({ name: 'Coder', model, tools: sandboxTools(sandboxes) });
  const { finalOutput } = await run(agent, 'Which are the first squares?', { maxTurns: 20 });
  expect(finalOutput).toBe('done');
  model.assertComplete();
  const told = toldTo(model);
  expect(told).toHaveLength(TOLD.length);
  for (const [index, output] of told.entries()) {
    expect(output).toMatchObject({ type: 'text' });
    expect((output as { text: string }).text).toMatch(TOLD[index]!);
  }
});

it('images are returned as images, and arguments that do not fit in words', async () => {
  await using sandbox = await service.client.sandboxes.create();
  await sandbox.files.write('dot.png', new Uint8Array([137, 80, 78, 71]));
  const model = scriptedModel([
    { tool: 'read_file', input: { path: 'dot.png' } },
    { tool: 'read_file', input: { path: 7 } },
  ]);
  await run(new Agent({ name: 'Reader', model, tools: sandboxTools(sandbox) }), 'Look.');
  const [image, refused] = toldTo(model);
  expect(JSON.stringify(image)).toContain('iVBORw==');
  expect(refused).toMatchObject({ text: expect.stringContaining('read_file cannot take this') });
});

it('aborting a run kills the command', async () => {
  await using sandboxes = new ToolSandboxes({ client: service.client });
  const sandbox = await sandboxes.use();
  const { asked, line } = endless();
  const abort = new AbortController();
  const agent = new Agent({
    name: 'Waiter',
    model: scriptedModel([asked]),
    tools: sandboxTools(sandboxes),
  });
  const failed = expect(run(agent, 'Wait.', { signal: abort.signal })).rejects.toThrow();
  await untilBegun(sandbox, line);
  abort.abort(new Error('enough'));
  await failed;
  await untilKilled(sandbox, line);
});

it("the SDK's own shell and patch tools work in a sandbox", async () => {
  await using sandbox = await service.client.sandboxes.create();
  const shellCall = (id: string, action: object) => [
    { type: 'shell_call', callId: id, status: 'completed', action } as never,
  ];
  const patchCall = (id: string, operation: object) => [
    { type: 'apply_patch_call', callId: id, status: 'completed', operation } as never,
  ];
  const model = new ScriptedModel([
    patchCall('1', { type: 'create_file', path: 'a.txt', diff: '+one\n+two\n' }),
    patchCall('2', { type: 'update_file', path: 'a.txt', diff: '@@\n one\n-two\n+zwei\n', moveTo: 'b.txt' }),
    patchCall('3', { type: 'update_file', path: 'b.txt', diff: '@@\n-three\n+drei\n' }),
    patchCall('4', { type: 'delete_file', path: '/tmp' }),
    shellCall('5', { commands: ['cat b.txt; ls a.txt; exit 3', 'sleep 30', 'echo never'], timeoutMs: 2000 }),
    shellCall('6', { commands: ['seq 1 20000'], maxOutputLength: 1000 }),
    patchCall('7', { type: 'delete_file', path: 'b.txt' }),
    modelResponder(() => [assistantMessage('done')]),
  ]);
  const boxedShell = sandboxShell(sandbox);
  const editor = sandboxEditor(sandbox);
  const agent = new Agent({
    name: 'Coder',
    model,
    tools: [shellTool({ shell: boxedShell }), applyPatchTool({ editor })],
  });
  await run(agent, 'Translate.', { maxTurns: 20 });
  model.assertComplete();
  const results = (model.lastCall!.request.input as { type: string; status?: string; output?: unknown }[])
    .filter(({ type }) => type.endsWith('_output'))
    .map(({ status, output }) => ({ status, output }));
  expect(results).toMatchObject([
    { status: 'completed', output: 'Created a.txt.' },
    { status: 'completed', output: 'Updated a.txt, which is now b.txt.' },
    { status: 'failed' },
    { status: 'failed', output: '/tmp is a folder.' },
    {
      output: [
        {
          stdout: 'one\nzwei',
          stderr: expect.stringContaining('a.txt'),
          outcome: { type: 'exit', exitCode: expect.any(Number) },
        },
        { outcome: { type: 'timeout' } },
      ],
    },
    { output: [{ stdout: expect.stringContaining('characters left out') }] },
    { status: 'completed', output: 'Deleted b.txt.' },
  ]);
  expect(await sandbox.files.exists('b.txt')).toBe(false);
});

it('aborting kills what the shell runs', async () => {
  await using sandbox = await service.client.sandboxes.create();
  const { asked, line } = endless();
  const abort = new AbortController();
  const boxedShell = sandboxShell(sandbox, { signal: abort.signal });
  const failed = expect(boxedShell.run({ commands: [String(asked.input.command)] })).rejects.toThrow(
    'enough',
  );
  await untilBegun(sandbox, line);
  abort.abort(new Error('enough'));
  await failed;
  await untilKilled(sandbox, line);
});

it('a sandbox agent works with files and commands in a sandbox', async () => {
  await using sandbox = await service.client.sandboxes.create();
  await sandbox.files.write('dot.png', new Uint8Array([137, 80, 78, 71]));
  const session = await createSandboxSession(sandbox, { timeoutMs: 2_000 });
  const patch = (type: string, diff: string) => [
    {
      type: 'apply_patch_call',
      callId: type,
      status: 'completed',
      operation: { type, path: 'squares.py', diff },
    } as never,
  ];
  const call = (callId: string, name: string, input: object) => [
    functionCall(name, { ...input }, { callId }),
  ];
  const program = 'print([n * n for n in range(8) if missing])';
  const model = new ScriptedModel([
    patch('create_file', `+${program}\n`),
    call('1', 'exec_command', { cmd: 'python3 squares.py' }),
    patch('update_file', `@@\n-${program}\n+${program.replace(' if missing', '')}\n`),
    call('2', 'exec_command', { cmd: 'python3 squares.py' }),
    call('3', 'view_image', { path: 'dot.png' }),
    call('4', 'exec_command', { cmd: 'echo begun; sleep 30' }),
    call('5', 'view_image', { path: 'missing.png' }),
    [assistantMessage('done')],
  ]);
  const agent = new SandboxAgent({ name: 'Coder', model, capabilities: [shell(), filesystem()] });
  const { finalOutput } = await run(agent, 'Which are the first squares?', {
    maxTurns: 20,
    sandbox: { session },
  });
  expect(finalOutput).toBe('done');
  const told = toldTo(model).map((output) => JSON.stringify(output));
  const expected = [
    /squares\.py/,
    /exited with code 1[\s\S]*NameError/,
    /squares\.py/,
    /exited with code 0[\s\S]*\[0, 1, 4, 9, 16, 25, 36, 49\]/,
    /iVBORw==/,
    /begun[\s\S]*ran longer than 2 s/,
    /missing\.png/,
  ];
  expect(told).toHaveLength(expected.length);
  for (const [index, said] of told.entries()) expect(said).toMatch(expected[index]!);
  const root = session.state.manifest.root;
  expect(await session.directoryExists!(root)).toBe(true);
  expect(await session.pathExists!(`${root}/no`)).toBe(false);
  expect(await session.listDir!({ path: root })).toContainEqual({
    name: 'squares.py',
    path: `${root}/squares.py`,
    type: 'file',
  });
  await expect(session.readFile!({ path: `${root}/squares.py`, maxBytes: 3 })).rejects.toThrow(
    'more than 3 bytes',
  );
  expect(await session.resolveExposedPort!(8000)).toMatchObject({ url: sandbox.url(8000) });
  expect((await sandbox.info()).state).toBe('running');
});
