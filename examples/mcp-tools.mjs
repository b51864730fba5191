// Any client of the Model Context Protocol gets sandboxes as tools by starting `svc mcp`. Here the model is a scripted stand-in.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const client = new Client({ name: 'example', version: '1.0.0' });
await client.connect(
  new StdioClientTransport({
    command: 'npx',
    args: ['@svc/cli', 'mcp'],
    env: process.env,
    stderr: 'inherit',
  }),
);
const { tools } = await client.listTools();
console.log(`tools: ${tools.map(({ name }) => name).join(', ')}`);

const call = async (name, given) => {
  const { content } = await client.callTool({ name, arguments: given });
  return content.map(({ text }) => text).join('\n');
};
const primes = 'print([n for n in range(2, 30) if all(n % d for d in range(2, n))])';
await call('write_file', { path: 'primes.py', content: primes });
console.log(await call('run_command', { command: 'python3 primes.py | tee primes.txt' }));
console.log(`read again: ${await call('read_file', { path: 'primes.txt' })}`);
await client.close();
