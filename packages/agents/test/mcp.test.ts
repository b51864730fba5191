import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client } from '@svc/sdk';
import { startServer } from '@svc/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type McpHttpServer, serveHttp, ToolSandboxes } from '../src/mcp/index.js';

const TOKEN = 'a-token-of-this-test';
const drivers: ('process' | 'linux')[] = process.getuid?.() === 0 ? ['process', 'linux'] : ['process'];
if (drivers.length === 1) console.warn('tools on the linux driver: skipped, it needs root');

describe.each(drivers)('tools on the %s driver', (driver) => {
  let directory: string;
  let server: Awaited<ReturnType<typeof startServer>>;
  let client: Client;
  let sandboxes: ToolSandboxes;
  let http: McpHttpServer;
  let mcp: McpClient;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-mcp-'));
    server = await startServer({
      dataDir: directory,
      driver,
      apiPort: 0,
      sandboxPort: 0,
      operatorPort: false,
      logLevel: 'error',
      poolSize: 0,
    });
    const { apiUrl, sandboxUrl, apiKey } = server;
    client = new Client({ apiUrl, sandboxUrl, apiKey, logLevel: 'off' });
    sandboxes = new ToolSandboxes({ client, owner: 'mcp' });
    http = await serveHttp({ sandboxes, version: '0.0.0', port: 0, token: TOKEN });
    mcp = await connect(http.url);
  }, 120_000);
  afterAll(async () => {
    await mcp?.close();
    await http?.close();
    await sandboxes?.close();
    await server?.stop({ destroySandboxes: true });
    await rm(directory, { recursive: true, force: true });
  });

  const call = async (name: string, given: Record<string, unknown>) => {
    const { content, isError } = await mcp.callTool({ name, arguments: given });
    const told = (content as { type: string; text?: string }[]).map((part) => part.text ?? part.type);
    return { told: told.join('\n'), failed: isError === true };
  };
  const said = async (name: string, given: Record<string, unknown>) => {
    const { told, failed } = await call(name, given);
    expect(failed, told).toBe(false);
    return told;
  };

  it('are listed with what they take, and what they may do', async () => {
    const { tools } = await mcp.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'run_command',
      'run_code',
      'read_file',
      'write_file',
      'edit_file',
      'list_files',
      'get_port_url',
      'create_sandbox',
      'fork_sandbox',
      'kill_sandbox',
    ]);
    for (const { name, description, inputSchema, annotations } of tools) {
      expect(description, name).toMatch(/\.$/);
      expect(inputSchema.type, name).toBe('object');
      expect(annotations, name).toBeDefined();
    }
  });

  it('run commands and code in one sandbox, which keeps what they leave', async () => {
    expect(await said('run_command', { command: 'echo out; echo err >&2; exit 3' })).toBe(
      'exit code: 3\nstdout:\nout\n\nstderr:\nerr\n',
    );
    expect(await said('write_file', { path: 'numbers/a.txt', content: '1\n2\n3\n' })).toMatch(
      /^Wrote 6 bytes to \/.*numbers\/a\.txt\.$/,
    );
    expect(await said('edit_file', { path: 'numbers/a.txt', old_text: '3', new_text: '4' })).toBe(
      'Replaced one place in numbers/a.txt.',
    );
    const program = 'print(sum(int(line) for line in open("numbers/a.txt")))';
    expect(await said('run_code', { language: 'python', code: program })).toBe('exit code: 0\nstdout:\n7\n');
    expect(await said('run_code', { language: 'bash', code: 'echo "$0"; ls /tmp/run-* | wc -l' })).toMatch(
      /stdout:\n\/tmp\/run-[-0-9a-f]+\.sh\n1\n$/,
    );
    expect(await said('list_files', { path: 'numbers' })).toMatch(/^\/.*numbers\/a\.txt {2}6$/);
    expect(await said('read_file', { path: 'numbers/a.txt', first_line: 2, lines: 1 })).toBe(
      '2\n[3 lines: read on with first_line 3]',
    );
    const listed = await client.sandboxes.list().toArray();
    expect(listed).toHaveLength(1);
    expect(listed[0]!.metadata).toEqual({ 'made-by': 'mcp' });
  });

  it('leave out the middle of long output, and stop what takes too long', async () => {
    const long = await said('run_command', { command: 'seq 1 20000' });
    expect(long.length).toBeLessThan(20_000);
    expect(long).toMatch(/^exit code: 0\nstdout:\n1\n2\n/);
    expect(long).toContain('characters left out');
    expect(long).toMatch(/\n20000\n$/);
    const endless = await call('run_command', { command: 'echo begun; yes', timeout_seconds: 1 });
    expect(endless.failed).toBe(true);
    expect(endless.told).toContain('it ran longer than 1 s');
  });

  it('show images, and refuse what is no text', async () => {
    const png =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    await said('run_command', { command: `echo ${png} | base64 -d > dot.png; cp dot.png dot.bin` });
    const { content } = await mcp.callTool({ name: 'read_file', arguments: { path: 'dot.png' } });
    expect(content).toEqual([{ type: 'image', data: png, mimeType: 'image/png' }]);
    expect(await call('read_file', { path: 'dot.bin' })).toEqual({
      told: 'dot.bin is not a text: look at it with a command, for example "file" or "xxd".',
      failed: true,
    });
    expect((await call('read_file', { path: 'no-such-file' })).told).toMatch(/no-such-file/);
    expect((await call('read_file', { path: 'numbers/a.txt', first_line: 9 })).told).toBe(
      'numbers/a.txt has 3 lines.',
    );
  });

  it('reach no sandbox that they did not make', async () => {
    const foreign = await client.sandboxes.create();
    for (const name of ['run_command', 'kill_sandbox']) {
      const { told, failed } = await call(name, { command: 'true', sandbox: foreign.id });
      expect(failed).toBe(true);
      expect(told).toContain('was not made by these tools');
    }
    expect((await foreign.info()).state).toBe('running');
    await foreign.kill();
    const made = await said('create_sandbox', {});
    expect(await said('run_command', { command: 'ls numbers 2>&1 || true', sandbox: made })).toMatch(
      /No such file/,
    );
    expect(await said('kill_sandbox', { sandbox: made })).toBe(`Killed ${made}.`);
    expect(await said('kill_sandbox', { sandbox: made })).toBe(`There is no sandbox ${made}.`);
  });

  it.skipIf(driver === 'process')('fork a sandbox, and the copies go their own ways', async () => {
    await said('run_command', { command: 'echo before > fork.txt' });
    const forks = (await said('fork_sandbox', { count: 2 })).split('\n');
    expect(forks).toHaveLength(2);
    await said('run_command', { command: 'echo one >> fork.txt', sandbox: forks[0] });
    const states = await Promise.all(
      [forks[0], forks[1], undefined].map((sandbox) => said('read_file', { path: 'fork.txt', sandbox })),
    );
    expect(states).toEqual(['before\none', 'before', 'before']);
    for (const fork of forks) await said('kill_sandbox', { sandbox: fork });
  });

  it.skipIf(driver === 'process')(
    'use the copies of a sandbox that somebody else made and named',
    async () => {
      const named = await client.sandboxes.getOrCreate({ name: 'elsewhere' });
      const tools = new ToolSandboxes({ client, name: 'elsewhere' });
      const [fork] = await tools.fork(undefined, 1);
      if (!fork?.ok) throw fork?.error;
      expect((await tools.use(fork.sandbox.id)).id).toBe(fork.sandbox.id);
      expect(await tools.kill(fork.sandbox.id)).toBe(true);
      await tools.close();
      expect((await named.info()).state).toBe('running');
      await named.kill();
    },
  );

  it('make the default sandbox anew when it is deleted', async () => {
    const [before] = await client.sandboxes.list().toArray();
    await client.sandboxes.kill(before!.sandboxId);
    const calls = await Promise.all([1, 2].map(() => said('run_command', { command: 'ls | wc -l' })));
    expect(calls).toEqual(['exit code: 0\nstdout:\n0\n', 'exit code: 0\nstdout:\n0\n']);
    expect(await client.sandboxes.list().toArray()).toHaveLength(1);
  });

  it('are for those who know the token, and not for pages of a browser', async () => {
    const post = (headers: Record<string, string>) =>
      fetch(http.url, {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json', ...headers },
      });
    expect((await post({})).status).toBe(401);
    expect((await post({ authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await post({ authorization: `Bearer ${TOKEN}`, origin: 'https://evil.example' })).status).toBe(
      403,
    );
    expect((await post({ authorization: `Bearer ${TOKEN}` })).status).toBe(400);
    await expect(connect(http.url, 'wrong')).rejects.toThrow();
  });
});

async function connect(url: string, token = TOKEN): Promise<McpClient> {
  const client = new McpClient({ name: 'test', version: '0.0.0' });
  const headers = { Authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}
