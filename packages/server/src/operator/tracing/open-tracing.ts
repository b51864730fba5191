import { hostname } from 'node:os';
import type { Driver } from '@svc/runtime/contract';
import type { LogEvent } from 'kysely';
import type { Tracer } from '../../api/context/tracer.js';
import type { SamplerName } from '../../config/samplers.js';

/** Settings of tracing. */
export interface TracingOptions {
  endpoint: string | undefined;
  headers: Record<string, string> | undefined;
  protocol: 'http/protobuf' | 'http/json';
  serviceName: string;
  sampler: SamplerName;
  ratio: number;
}

/** A tracer that sends its spans away; close it last. */
export interface OpenTracing {
  tracer: Tracer;
  /** For the database: makes each of its statements a span. */
  onQuery(event: LogEvent): void;
  traceDriver(driver: Driver): Driver;
  close(): Promise<void>;
}

/** Opens what makes and sends spans; undefined without an endpoint, and then nothing of it is loaded. */
export async function openTracing(
  options: TracingOptions,
  { nodeId, system }: { nodeId: string; system: 'sqlite' | 'postgresql' },
  warn: (fields: object, message: string) => void,
): Promise<OpenTracing | undefined> {
  const { endpoint, headers = {}, protocol, serviceName, sampler, ratio } = options;
  if (endpoint === undefined) return undefined;
  const [{ RecordingTracer }, { OtlpExporter }, { traceDriver }, { traceQueries }] = await Promise.all([
    import('./recording-tracer.js'),
    import('./otlp/exporter.js'),
    import('./trace-driver.js'),
    import('./trace-queries.js'),
  ]);
  const attributes = {
    'service.name': serviceName,
    'service.instance.id': nodeId,
    'host.name': hostname(),
    'telemetry.sdk.name': 'svc',
    'telemetry.sdk.language': 'nodejs',
  };
  const exporter = new OtlpExporter({
    endpoint,
    headers,
    protocol,
    resource: { attributes, scope: { name: '@svc/server' } },
    warn: (fields) => warn(fields, 'spans were dropped: look at the collector of tracing.endpoint'),
  });
  const tracer = new RecordingTracer(exporter, { sampler, ratio });
  return {
    tracer,
    onQuery: traceQueries(tracer, system),
    traceDriver: (driver) => traceDriver(driver, tracer),
    close: () => exporter.close(),
  };
}
