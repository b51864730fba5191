import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '@svc/server';
import { eventually } from '@svc/support/eventually';
import { playCollector } from '@svc/support/testing/otlp-collector';
import { expect, it } from 'vitest';
import { Client } from '../../src/index.js';
import { openTelemetry } from '../../src/opentelemetry.js';
import { recordSpans } from '../support/span-recorder.js';

it('one trace goes from the program over the SDK and the server to the driver, where the server believes its callers', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-trace-'));
  const collector = await playCollector();
  const recorded = recordSpans();
  const server = await startServer({
    dataDir,
    driver: 'process',
    apiPort: 0,
    sandboxPort: 0,
    operatorPort: false,
    logLevel: 'silent',
    drainMs: 1_000,
    tracing: { endpoint: collector.url, protocol: 'http/json', sampler: 'parentbased_always_on' },
  });
  try {
    const { apiUrl, sandboxUrl, apiKey } = server;
    const client = new Client({
      apiUrl,
      sandboxUrl,
      apiKey,
      logLevel: 'off',
      telemetry: openTelemetry(recorded),
    });
    const accessToken = await recorded.inside('job', async () => {
      const sandbox = await client.sandboxes.create({ envs: { SECRET: 'never-shown' } });
      await sandbox.commands.run('echo never-shown');
      await sandbox.files.write('never-shown', 'never-shown');
      await sandbox.kill();
      return sandbox.accessToken;
    });
    const { traceId, spanId: job } = (await recorded.only('job')).spanContext();
    const inTrace = () => collector.spans.filter((span) => span.traceId === traceId);
    const [create, kill] = await eventually('the spans of the server', () => {
      const both = ['createSandboxV2', 'killSandbox'].map((name) =>
        inTrace().find((span) => span.name === name),
      );
      return both.every((span) => span !== undefined) && both;
    });
    const ofSdk = async (name: string) => (await recorded.only(name)).spanContext().spanId;
    expect((await recorded.only('sandboxes.create')).parentSpanContext?.spanId).toBe(job);
    expect(create?.parentSpanId).toBe(await ofSdk('sandboxes.create'));
    expect(kill?.parentSpanId).toBe(await ofSdk('sandboxes.kill'));
    const driver = inTrace().find(({ name }) => name === 'driver.create');
    expect(driver?.parentSpanId).toBe(create?.spanId);
    const gateway = inTrace().filter(({ name }) => name === 'gateway.daemon');
    expect(gateway.map(({ parentSpanId }) => parentSpanId)).toEqual(
      expect.arrayContaining([await ofSdk('commands.run'), await ofSdk('files.write')]),
    );
    const exported = collector.requests.map(({ body }) => body.toString()).join() + recorded.text();
    for (const secret of ['never-shown', apiKey, accessToken!, server.operatorToken])
      expect(exported).not.toContain(secret);
  } finally {
    await server.stop({ destroySandboxes: true });
    await recorded.stop();
    await collector[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true, force: true });
  }
});
