import { tmpdir } from 'node:os';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSandbox } from '../support/sandboxes.js';
import { startTestServer } from '../support/server.js';

const findings = await checkHost({ dataDir: tmpdir() });
const able =
  linuxDriverCanRun(findings) && findings.every(({ ok, neededFor }) => ok || neededFor !== 'memorySnapshot');
if (!able) console.warn('100 forks on the linux driver: skipped, this host keeps no memory');

describe.skipIf(!able)('forkSandbox on the linux driver', () => {
  it('makes 100 forks of one sandbox under the default limits', async () => {
    const test = await startTestServer({
      driver: 'linux',
      poolSize: 0,
      rateLimits: {},
      // A busy machine may need longer than the minute that a request gets; how many there may be stays as it is.
      tuning: { requestTimeoutMs: 280_000 },
    });
    onTestFinished(() => test[Symbol.asyncDispose]());
    const { id } = await createSandbox(test);
    const answer = await test.api('POST', `/sandboxes/${id}/fork`, { count: 100, timeout: 300 });
    expect(answer.status).toBe(201);
    const entries = answer.body as { sandbox?: { sandboxID: string }; error?: unknown }[];
    expect(entries.filter((entry) => entry.error !== undefined)).toEqual([]);
    expect(new Set(entries.map((entry) => entry.sandbox!.sandboxID)).size).toBe(100);
    const listed = await test.api('GET', '/v2/sandboxes?state=running');
    expect(listed.headers.get('X-Total-Running')).toBe('101');
  });
});
