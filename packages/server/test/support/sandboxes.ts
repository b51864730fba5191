import { onTestFinished } from 'vitest';
import { frame, splitFrames } from '#support/connect-frames';
import type { TestServer } from './server.js';

/** Creates a sandbox that ends with the test. */
export async function createSandbox(
  test: TestServer,
  body: Record<string, unknown> = {},
): Promise<{ id: string; token: string }> {
  const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base', ...body });
  if (made.status !== 201) throw new Error(`create answered ${made.status}: ${JSON.stringify(made.body)}`);
  const id = made.body.sandboxID as string;
  onTestFinished(async () => {
    await test.api('DELETE', `/sandboxes/${id}`);
  });
  return { id, token: made.body.envdAccessToken as string };
}

/** Runs a shell command through the gateway, by default as the sandbox's own user, and gives what it printed. */
export async function run(
  test: TestServer,
  sandbox: { id: string; token: string },
  command: string,
  user?: string,
): Promise<string> {
  const response = await fetch(`${test.server.sandboxUrl}/process.Process/Start`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/connect+json',
      'Connect-Protocol-Version': '1',
      'Svc-Sandbox-Id': sandbox.id,
      'Svc-Sandbox-Port': '49983',
      'X-Access-Token': sandbox.token,
      ...(user === undefined ? {} : { Authorization: `Basic ${Buffer.from(`${user}:`).toString('base64')}` }),
    },
    body: frame({ process: { cmd: '/bin/sh', args: ['-c', command] } }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200)
    throw new Error(`Start answered ${response.status}: ${bytes.toString('utf8')}`);
  let output = '';
  for (const each of splitFrames(bytes)) {
    const event = each.json() as { event?: { data?: { stdout?: string } }; error?: unknown };
    if (event.error !== undefined) throw new Error(`Start ended with ${each.bytes.toString('utf8')}`);
    output += Buffer.from(event.event?.data?.stdout ?? '', 'base64').toString('utf8');
  }
  return output;
}

/** Types of the events of a sandbox, oldest first. */
export async function eventTypes(test: TestServer, sandboxId: string): Promise<string[]> {
  const rows = await test.server.context.db
    .selectFrom('events')
    .select('type')
    .where('sandbox_id', '=', sandboxId)
    .orderBy('seq')
    .execute();
  return rows.map((row) => row.type.replace('sandbox.lifecycle.', ''));
}
