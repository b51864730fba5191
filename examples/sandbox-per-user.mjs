// One sandbox for each user: two messages of a chat may arrive at two servers at once, and both continue in the same sandbox.
import { Client } from '@svc/sdk';

const name = `user-${process.pid}`;
const answer = async (message) => {
  // Each message is served by a program that knows nothing of the others.
  const client = new Client();
  const sandbox = await client.sandboxes.getOrCreate({ name, timeoutMs: 120_000, autoPause: true });
  await sandbox.$`echo ${message} >> chat.txt`;
  return sandbox;
};

const [first, second] = await Promise.all([answer('hello'), answer('is anybody there?')]);
console.log(first.id === second.id ? 'one sandbox' : 'two sandboxes');

await first.pause();
const third = await answer('good night');
const lines = (await third.files.read('chat.txt')).trim().split('\n');
console.log(`${lines.length} messages: ${lines.toSorted().join(' / ')}`);
await third.kill();
