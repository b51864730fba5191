import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { eventually } from '@svc/support/eventually';

/** Records the export of an OpenTelemetry SDK. Call `stop` at the end: contexts are kept globally. */
export function recordSpans() {
  const spans = new InMemorySpanExporter();
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 3_600_000 });
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const propagator = new CompositePropagator({
    propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const finished = (name: string) => spans.getFinishedSpans().filter((span) => span.name === name);
  return {
    tracerProvider,
    meterProvider,
    propagator,
    /** Runs work inside a span of the program. */
    async inside<T>(name: string, work: () => Promise<T>): Promise<T> {
      const span = tracerProvider.getTracer('program').startSpan(name);
      try {
        return await context.with(trace.setSpan(context.active(), span), work);
      } finally {
        span.end();
      }
    },
    /** The finished spans of a name. */
    finished,
    /** The only one of a name, when it has ended. */
    only: (name: string): Promise<ReadableSpan> =>
      eventually(`the span ${name} to end`, () => {
        const found = finished(name);
        if (found.length > 1) throw new Error(`${found.length} spans are called ${name}`);
        return found[0];
      }),
    forget: () => spans.reset(),
    /** Everything that was exported, as text. */
    text: () => JSON.stringify(spans.getFinishedSpans().map(plain)),
    async metrics(): Promise<Record<string, { value: unknown; attributes: Record<string, unknown> }[]>> {
      metrics.reset();
      await reader.forceFlush();
      const all = metrics
        .getMetrics()
        .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
      return Object.fromEntries(
        all.map(({ descriptor, dataPoints }) => [
          descriptor.name,
          dataPoints.map(({ value, attributes }) => ({ value, attributes })),
        ]),
      );
    },
    async stop(): Promise<void> {
      context.disable();
      await tracerProvider.shutdown();
      await meterProvider.shutdown();
    },
  };
}

/** The part of a span that tests compare. */
export function plain(span: ReadableSpan) {
  return {
    name: span.name,
    traceId: span.spanContext().traceId,
    parent: span.parentSpanContext?.spanId,
    attributes: span.attributes,
    events: span.events.map(({ name, attributes }) => ({ name, ...attributes })),
    status: SpanStatusCode[span.status.code],
    message: span.status.message,
  };
}
