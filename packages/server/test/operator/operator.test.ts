import { describe, expect, it } from 'vitest';
import { createStats } from '../../src/gateway/stats.js';
import {
  gatewayMetrics,
  processMetrics,
  renderMetrics,
  startOperatorServer,
} from '../../src/operator/index.js';

describe('renderMetrics', () => {
  it('writes help, type and samples with escaped labels', () => {
    const text = renderMetrics([
      {
        name: 'a_total',
        help: 'line\nbreak \\',
        type: 'counter',
        samples: [{ value: 3, labels: { x: 'q"\\\n', y: '' } }],
      },
      {
        name: 'b',
        help: 'B.',
        type: 'gauge',
        samples: [{ value: 1.5 }, { value: Number.POSITIVE_INFINITY, labels: { k: 'v' } }],
      },
      { name: 'none', help: 'N.', type: 'gauge', samples: [] },
    ]);
    expect(text).toBe(
      '# HELP a_total line\\nbreak \\\\\n# TYPE a_total counter\na_total{x="q\\"\\\\\\n",y=""} 3\n' +
        '# HELP b B.\n# TYPE b gauge\nb 1.5\nb{k="v"} +Inf\n',
    );
  });

  it('writes nothing for nothing', () => {
    expect(renderMetrics([])).toBe('');
  });

  it('joins families of one name', () => {
    const one = (value: number) => ({
      name: 'a',
      help: 'A.',
      type: 'gauge' as const,
      samples: [{ value, labels: { n: `${value}` } }],
    });
    expect(renderMetrics([one(1), one(2)]).match(/# TYPE a gauge/g)).toHaveLength(1);
    expect(renderMetrics([one(1), one(2)])).toContain('a{n="1"} 1\na{n="2"} 2\n');
  });

  it('covers what the gateway counts', () => {
    const stats = createStats();
    stats.requests = 7;
    stats.refusals.port_closed = 2;
    const text = renderMetrics([...gatewayMetrics(stats), ...processMetrics()]);
    expect(text).toContain('svc_gateway_requests_total 7\n');
    expect(text).toContain('svc_gateway_refusals_total{reason="port_closed"} 2\n');
    expect(text).toMatch(/process_resident_memory_bytes \d+/);
    // One family for each counter and gauge: a new one must not be forgotten here.
    expect(gatewayMetrics(stats)).toHaveLength(Object.keys(stats).length);
  });
});

describe('the operator port', () => {
  it('serves metrics and status, and nothing else', async () => {
    await using server = await startOperatorServer(
      {
        metrics: () => [{ name: 'up', help: 'Up.', type: 'gauge', samples: [{ value: 1 }] }],
        status: async () => ({ state: 'ready' }),
      },
      { port: 0 },
    );
    const metrics = await fetch(`${server.url}/metrics?x`);
    expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(await metrics.text()).toContain('up 1\n');
    expect(await (await fetch(`${server.url}/status`)).json()).toEqual({ state: 'ready' });
    expect((await fetch(`${server.url}/`)).status).toBe(404);
    expect((await fetch(`${server.url}/status`, { method: 'POST' })).status).toBe(405);
  });

  it('tells the operator, not the client, why a scrape failed', async () => {
    const errors: unknown[] = [];
    const failing = () => Promise.reject(new Error('private detail'));
    const deps = { metrics: failing, status: failing, onError: (error: unknown) => void errors.push(error) };
    await using server = await startOperatorServer(deps, { port: 0 });
    const answer = await fetch(`${server.url}/metrics`);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('private');
    expect(errors).toHaveLength(1);
  });

  it('fails to start on a port that is taken', async () => {
    const deps = { metrics: () => [], status: () => ({}) };
    await using first = await startOperatorServer(deps, { port: 0 });
    await expect(startOperatorServer(deps, { port: Number(new URL(first.url).port) })).rejects.toThrow(
      /EADDRINUSE/,
    );
  });
});
