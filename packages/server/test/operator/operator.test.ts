import { describe, expect, it } from 'vitest';
import { createStats } from '../../src/gateway/stats.js';
import { MetricsPage } from '../../src/operator/metrics/metrics-page.js';
import { openMetrics } from '../../src/operator/metrics/open-metrics.js';
import { gatewayMetrics, processMetrics } from '../../src/operator/metrics/readings.js';
import { startOperatorServer } from '../../src/operator/operator-server.js';

describe('the page of metrics', () => {
  it('shows what was read last, and nothing of what was read before', async () => {
    const page = new MetricsPage();
    const families = (states: Record<string, number>) => [
      {
        name: 'a_total',
        help: 'A.',
        type: 'counter' as const,
        samples: Object.entries(states).map(([state, value]) => ({ value, labels: { state } })),
      },
      { name: 'none', help: 'N.', type: 'gauge' as const, samples: [] },
    ];
    await page.render(families({ up: 3, 'do"wn': 2 }));
    const text = await page.render(families({ up: 4 }));
    expect(text).toContain('# TYPE a_total counter');
    expect(text).toContain('a_total{state="up"} 4\n');
    expect(text).not.toMatch(/wn|none/);
  });

  it('covers what the gateway counts', async () => {
    const stats = createStats();
    stats.requests = 7;
    stats.refusals.port_closed = 2;
    const text = await new MetricsPage().render([...gatewayMetrics(stats), ...processMetrics()]);
    expect(text).toContain('svc_gateway_requests_total 7\n');
    expect(text).toContain('svc_gateway_refusals_total{reason="port_closed"} 2\n');
    expect(text).toMatch(/process_resident_memory_bytes \d+/);
    // One family for each counter and gauge: a new one must not be forgotten here.
    expect(gatewayMetrics(stats)).toHaveLength(Object.keys(stats).length);
  });

  it('shows how late the event loop is', async () => {
    const open = openMetrics();
    try {
      const { type, body } = await open.show([]);
      expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
      expect(body).toMatch(/svc_event_loop_delay_seconds\{percentile="99"\} [\d.e-]+\n/);
    } finally {
      open.close();
    }
  });
});

describe('the operator port', () => {
  it('serves metrics and status, and nothing else', async () => {
    await using server = await startOperatorServer(
      {
        metrics: async () => ({ type: 'text/plain; version=0.0.4', body: 'up 1\n' }),
        status: async () => ({ state: 'ready' }),
      },
      { port: 0 },
    );
    const metrics = await fetch(`${server.url}/metrics?x`);
    expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4');
    expect(await metrics.text()).toContain('up 1\n');
    expect(await (await fetch(`${server.url}/status`)).json()).toEqual({ state: 'ready' });
    expect((await fetch(`${server.url}/`)).status).toBe(404);
    expect((await fetch(`${server.url}/status`, { method: 'POST' })).status).toBe(405);
  });

  it('logs for the operator, not for the client, why a scrape failed', async () => {
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
    const deps = { metrics: async () => ({ type: 'text/plain', body: '' }), status: () => ({}) };
    await using first = await startOperatorServer(deps, { port: 0 });
    await expect(startOperatorServer(deps, { port: Number(new URL(first.url).port) })).rejects.toThrow(
      /EADDRINUSE/,
    );
  });
});
