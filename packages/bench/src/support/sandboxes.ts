import type { Client, Sandbox } from '@svc/sdk';
import { timed } from './time.js';

/** Time to interactive, ms: from the create call until a first command has ended. */
export async function createAndRun(client: Client): Promise<{ ms: number; value: Sandbox }> {
  return timed(async () => {
    const made = await client.sandboxes.create();
    await made.commands.run('true');
    return made;
  });
}

/** Time from the call for so many copies until all of them answer, ms. They are killed afterwards. */
export async function forkUntil(
  source: Sandbox,
  options: { count: number; timeoutMs?: number },
  answered: (copy: Sandbox) => Promise<unknown>,
): Promise<number> {
  const { ms, value: forks } = await timed(async () => {
    const made = await source.fork(options);
    await Promise.all(made.map(async (each) => each.ok && (await answered(each.sandbox))));
    return made;
  });
  for (const each of forks) {
    if (!each.ok) throw each.error;
    await each.sandbox.kill();
  }
  return ms;
}
