// Loads something expensive once, forks the sandbox with its memory, and lets every fork go its own way.
import { Sandbox } from '@svc/sdk';

const WORKER = `
import os, random, sys
table = {n: n * n for n in range(200_000)}      # the expensive part, done once
print("ready", flush=True)
for line in sys.stdin:
    n = int(line)
    print(table[n], flush=True)
`;

const sandbox = await Sandbox.create();
try {
  await sandbox.files.write('worker.py', WORKER);
  const worker = await sandbox.commands.start('python3 -u worker.py', { stdin: true, tag: 'worker' });
  for await (const event of worker) if (event.text?.includes('ready')) break;

  const results = await sandbox.withForks(
    4,
    async (fork, index) => {
      // The same process, with the table in its memory, continues in each fork.
      const copy = await fork.commands.connect({ tag: 'worker' }, { output: 'new' });
      const input = copy.stdin.getWriter();
      await input.write(`${(index + 1) * 111}\n`);
      for await (const event of copy) if (event.text) return event.text.trim();
    },
    { timeoutMs: 60_000 },
  );

  for (const [index, result] of results.entries()) {
    console.log(
      `fork ${index}: ${result.ok ? `${(index + 1) * 111} squared is ${result.value}` : result.error.message}`,
    );
  }
} finally {
  await sandbox.kill();
}
