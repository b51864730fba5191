import { expect, it } from 'vitest';
import { sandboxTools, type ToolName, ToolSandboxes } from '../src/index.js';
import { withService } from './support/service.js';

const service = withService();

/** Calls tools by name; what fails starts with "failed: ". */
function caller(source: Parameters<typeof sandboxTools>[0]) {
  const tools = new Map(sandboxTools(source).map((tool) => [tool.name, tool]));
  return async (name: ToolName, input: unknown, signal?: AbortSignal) => {
    const { content, isError } = await tools.get(name)!.call(input, { signal });
    const told = content.map((part) => (part.type === 'text' ? part.text : part.type)).join('\n');
    return isError ? `failed: ${told}` : told;
  };
}

it('describe what they take as JSON Schema, and name a sandbox only where there may be several', async () => {
  await using sandboxes = new ToolSandboxes({ client: service.client });
  await using sandbox = await sandboxes.use();
  const many = sandboxTools(sandboxes);
  const one = sandboxTools(sandbox);
  expect(many.map(({ name }) => name).filter((name) => !one.some((tool) => tool.name === name))).toEqual([
    'create_sandbox',
    'fork_sandbox',
    'kill_sandbox',
  ]);
  expect(many[0]).toMatchObject({
    name: 'run_command',
    effects: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
    jsonSchema: {
      type: 'object',
      properties: { command: { type: 'string' }, sandbox: { type: 'string' } },
      required: ['command'],
      additionalProperties: false,
    },
  });
  expect(one[0]!.jsonSchema.properties).not.toHaveProperty('sandbox');
});

it('report what is wrong with what a model gave, without a call to the service', async () => {
  const sandboxes = new ToolSandboxes({ client: service.client });
  const call = caller(sandboxes);
  const before = (await service.client.sandboxes.list().toArray()).length;
  expect(await call('run_command', { command: 7 })).toMatch(
    /^failed: run_command cannot take this:\n.*expected string[\s\S]*command/,
  );
  expect(await call('read_file', null)).toMatch(/^failed: read_file cannot take this/);
  expect(await call('run_code', { language: 'cobol', code: 'x' })).toMatch(/python/);
  const fired = AbortSignal.abort(new Error('enough'));
  await expect(call('run_command', { command: 'true' }, fired)).rejects.toThrow('enough');
  expect(await service.client.sandboxes.list().toArray()).toHaveLength(before);
});

it('edit a place that is named exactly, and nothing else', async () => {
  await using sandbox = await service.client.sandboxes.create();
  const call = caller(sandbox);
  const edit = (old_text: string, new_text: string, more: object = {}) =>
    call('edit_file', { path: 'a.txt', old_text, new_text, ...more });
  await sandbox.files.write('a.txt', '\uFEFFone $& two\none three\n');
  expect(await edit('four', 'five')).toMatch(/^failed: a\.txt does not have this old_text/);
  expect(await edit('one', 'uno')).toMatch(/^failed: a\.txt has this old_text 2 times/);
  expect(await edit('two', '$& $1')).toBe('Replaced one place in a.txt.');
  expect(await edit('one', 'uno', { replace_all: true })).toBe('Replaced 2 places in a.txt.');
  const bytes = await sandbox.files.read('a.txt', { format: 'bytes' });
  expect(Buffer.from(bytes).toString()).toBe('\uFEFFuno $& $& $1\nuno three\n');
  await sandbox.files.write('a.txt', new Uint8Array([0x61, 0xe4, 0x62]));
  expect(await edit('a', 'b')).toMatch(/^failed: a\.txt is not UTF-8/);
  await sandbox.files.write('a.txt', new Uint8Array([0x61, 0, 0x62]));
  expect(await edit('a', 'b')).toMatch(/^failed: a\.txt is not a text/);
  expect(await sandbox.files.read('a.txt', { format: 'bytes' })).toEqual(new Uint8Array([0x61, 0, 0x62]));
});

it('report no more of a folder or an error than fits a context', async () => {
  await using sandbox = await service.client.sandboxes.create();
  const call = caller(sandbox);
  await sandbox.commands.run('mkdir many; cd many; seq -f "%0200g" 900 | xargs touch');
  const listed = await call('list_files', { path: 'many' });
  expect(listed.length).toBeLessThan(70_000);
  expect(listed).toContain('characters left out');
  expect((await call('read_file', { path: 'x'.repeat(100_000) })).length).toBeLessThan(20_000);
});

it('of two agents work in two sandboxes, and neither reaches the other', async () => {
  const [one, two] = [1, 2].map(() => new ToolSandboxes({ client: service.client }));
  const [ask, askOther] = [caller(one!), caller(two!)];
  await ask('write_file', { path: 'secret.txt', content: 'of one' });
  expect(await askOther('read_file', { path: 'secret.txt' })).toMatch(/^failed: /);
  const made = await ask('create_sandbox', {});
  for (const sandbox of [made, (await one!.use()).id]) {
    const refused = /^failed: Sandbox \S+ was not made by these tools/;
    expect(await askOther('run_command', { command: 'true', sandbox })).toMatch(refused);
    expect(await askOther('kill_sandbox', { sandbox })).toMatch(refused);
    expect(await askOther('fork_sandbox', { sandbox })).toMatch(refused);
  }
  expect(await ask('run_command', { command: 'true', sandbox: made })).toBe('exit code: 0');
  const ids = [made, (await one!.use()).id, (await two!.use()).id];
  await one![Symbol.asyncDispose]();
  const left = (await service.client.sandboxes.list().toArray()).map(({ sandboxId }) => sandboxId);
  expect(left).not.toContain(ids[0]);
  expect(left).not.toContain(ids[1]);
  expect(left).toContain(ids[2]);
  await two!.close();
});
