import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { run } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';

const file = (name: string) => fileURLToPath(new URL(`../../../../docs/monitoring/${name}`, import.meta.url));

describe('the metrics of a server', () => {
  let test: TestServer;
  let text: string;

  const scrape = async () => (await fetch(`${test.server.operatorUrl}/metrics`)).text();
  const value = (line: string) =>
    Number(
      text
        .split('\n')
        .find((each) => each.startsWith(`${line} `))
        ?.slice(line.length),
    );

  beforeAll(async () => {
    test = await startTestServer({});
    const { body } = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
    await run(test, { id: body.sandboxID, token: body.envdAccessToken }, 'true');
    await test.api('POST', '/v2/sandboxes', { templateID: 'nowhere' });
    await test.api('GET', '/v2/sandboxes');
    await eventually('the last answer is counted', async () => {
      text = await scrape();
      return value('svc_api_request_duration_seconds_count{operation="listSandboxesV2",status="200"}') === 1;
    });
  });
  afterAll(() => test?.[Symbol.asyncDispose]());

  it('time requests by operation and status, and the phases of starts', () => {
    const requests = 'svc_api_request_duration_seconds_count';
    expect(value(`${requests}{operation="createSandboxV2",status="201"}`)).toBe(1);
    expect(value(`${requests}{operation="createSandboxV2",status="404"}`)).toBe(1);
    for (const phase of ['record', 'driver', 'network', 'daemon', 'publish'])
      expect(value(`svc_sandbox_start_phase_duration_seconds_count{source="fresh",phase="${phase}"}`)).toBe(
        1,
      );
  });

  it('cover the pool, the database, the event loop and queues', () => {
    expect(value('svc_pool_requests_total{outcome="miss"}')).toBe(1);
    expect(value('svc_database_up')).toBe(1);
    expect(value('svc_webhook_deliveries_pending')).toBe(0);
    expect(value('svc_builds')).toBe(0);
    expect(value('svc_event_loop_delay_seconds{percentile="99"}')).toBeGreaterThanOrEqual(0);
    expect(value('svc_sandboxes{state="running"}')).toBe(1);
  });

  it('make no label of what a client writes', async () => {
    await fetch(`${test.server.apiUrl}/nowhere/at-all`);
    await fetch(`${test.server.apiUrl}/sandboxes/%22%7D%0Aevil`, {
      headers: { 'X-API-Key': test.server.apiKey },
    });
    expect(await scrape()).not.toMatch(/nowhere|evil/);
  });

  it.each(['alerts.yml', 'grafana.json'])('are all there that docs/monitoring/%s asks for', (name) => {
    // The driver of this test has no store of its own and no egress process.
    const absent = /^svc_(store|egress)_/;
    const asked = new Set(readFileSync(file(name), 'utf8').match(/\b(svc|process)_[a-z_]+(?=[{[ )])/g));
    expect(asked.size).toBeGreaterThan(5);
    for (const metric of asked) {
      const family = metric.replace(/_(bucket|count|sum)$/, '');
      const described = text.includes(`# TYPE ${family} `) || text.includes(`# TYPE ${metric} `);
      if (!absent.test(metric)) expect(described, metric).toBe(true);
    }
  });

  const promtool = spawnSync('promtool', ['--version']).status === 0;
  it.skipIf(!promtool)(
    `and the alert rules pass promtool${promtool ? '' : ' (skipped: there is no promtool; Debian has it in the package prometheus)'}`,
    () => {
      execFileSync('promtool', ['check', 'rules', file('alerts.yml')]);
      execFileSync('promtool', ['check', 'metrics'], { input: text });
    },
  );
});
