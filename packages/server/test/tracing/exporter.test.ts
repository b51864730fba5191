import { eventually } from '@svc/support/eventually';
import { type Behaviour, type PlayedCollector, playCollector } from '@svc/support/testing/otlp-collector';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FinishedSpan } from '../../src/operator/tracing/finished-span.js';
import {
  type ExporterOptions,
  MOST_WAITING,
  OtlpExporter,
} from '../../src/operator/tracing/otlp/exporter.js';

const span = (name = 'createSandboxV2'): FinishedSpan => ({
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  parentSpanId: 'b7ad6b7169203331',
  name,
  kind: 'server',
  startUs: 1_750_000_000_000_001,
  endUs: 1_750_000_000_250_000,
  attributes: { text: 'grüße', whole: -5, big: 2 ** 40, double: 0.25, flag: true, no: false, empty: '' },
  link: { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: '53995c3f42cd8ad8', sampled: true },
  failed: true,
});

let collector: PlayedCollector;
let warnings: { reason: string; dropped: number }[];
let nowMs: number;
const exporterTo = (url: string, options: Partial<ExporterOptions> = {}) =>
  new OtlpExporter({
    endpoint: url,
    headers: { 'api-key': 'key-never-shown' },
    protocol: 'http/protobuf',
    resource: { attributes: { 'service.name': 'svc' }, scope: { name: 'test' } },
    warn: (warning) => void warnings.push(warning),
    now: () => nowMs,
    retryDelaysMs: [5],
    ...options,
  });
beforeEach(async () => {
  collector = await playCollector();
  warnings = [];
  nowMs = 0;
});
afterEach(() => collector[Symbol.asyncDispose]());

describe.each(['http/protobuf', 'http/json'] as const)('spans over %s', (protocol) => {
  it('arrive as they were, with the headers of the operator', async () => {
    const exporter = exporterTo(`${collector.url}/`, { protocol });
    exporter.add(span());
    await exporter.close();
    const [request] = collector.requests;
    expect(request).toMatchObject({ path: '/v1/traces', resource: { 'service.name': 'svc' } });
    expect(request?.headers['api-key']).toBe('key-never-shown');
    expect(request?.spans).toEqual([
      {
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        spanId: '00f067aa0ba902b7',
        parentSpanId: 'b7ad6b7169203331',
        name: 'createSandboxV2',
        kind: 2,
        startNs: 1_750_000_000_000_001_000n,
        endNs: 1_750_000_000_250_000_000n,
        attributes: span().attributes,
        links: [{ traceId: '0af7651916cd43dd8448eb211c80319c', spanId: '53995c3f42cd8ad8' }],
        status: 2,
      },
    ]);
    expect(exporter.counts).toEqual({ exported: 1, dropped: 0 });
  });
});

describe('a collector in trouble', () => {
  it.each<[string, Behaviour, number, string]>([
    ['answers 400, which is final', 400, 1, 'the collector answered 400'],
    ['answers 503, which is tried again', 503, 2, 'the collector answered 503'],
    ['answers nothing', 'hang', 2, 'the collector did not answer in time'],
  ])('that %s costs the spans, and one warning without the key', async (_, behave, requests, reason) => {
    collector.behave = behave;
    const exporter = exporterTo(collector.url, { timeoutMs: behave === 'hang' ? 50 : 60_000 });
    for (let i = 0; i < 512; i++) exporter.add(span());
    await eventually('the spans to be dropped', () => exporter.counts.dropped === 512);
    // An attempt that runs out of time may do so before it arrives.
    if (behave === 'hang') expect(collector.requests.length).toBeLessThanOrEqual(requests);
    else expect(collector.requests).toHaveLength(requests);
    expect(warnings).toEqual([{ reason, dropped: 512 }]);
    await exporter.close();
  });

  it('that is not there costs the spans, one warning a minute, and never more memory than the queue', async () => {
    const { url } = collector;
    await collector[Symbol.asyncDispose]();
    const exporter = exporterTo(url);
    for (let i = 0; i < 3 * MOST_WAITING; i++) exporter.add(span());
    await eventually('all to be dropped', () => exporter.counts.dropped === 3 * MOST_WAITING);
    expect(warnings).toHaveLength(1);
    nowMs = 61_000;
    for (let i = 0; i < 512; i++) exporter.add(span());
    await eventually('the second warning', () => warnings.length === 2);
    expect(warnings[1]?.reason).toMatch(/^the collector cannot be reached/);
    await exporter.close();
    collector = await playCollector();
  });

  it('that comes back gets what was made since', async () => {
    collector.behave = 500;
    const exporter = exporterTo(collector.url);
    for (let i = 0; i < 512; i++) exporter.add(span('lost'));
    await eventually('the first to be dropped', () => exporter.counts.dropped === 512);
    collector.behave = 200;
    exporter.add(span('kept'));
    await exporter.close();
    expect(collector.spans.at(-1)?.name).toBe('kept');
    expect(exporter.counts).toEqual({ exported: 1, dropped: 512 });
  });

  it('that hangs does not hold up the end for more than some seconds', async () => {
    collector.behave = 'hang';
    const exporter = exporterTo(collector.url, { timeoutMs: 60_000 });
    for (let i = 0; i < 600; i++) exporter.add(span());
    const began = performance.now();
    await exporter.close();
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(exporter.counts).toEqual({ exported: 0, dropped: 600 });
    exporter.add(span());
    expect(exporter.counts.dropped).toBe(601);
  });

  it('that redirects is not followed: the headers are for it alone', async () => {
    const other = await playCollector();
    collector.behave = 307;
    const exporter = exporterTo(collector.url);
    exporter.add(span());
    await exporter.close();
    expect(exporter.counts.dropped).toBe(1);
    expect(other.requests).toEqual([]);
    await other[Symbol.asyncDispose]();
  });
});
