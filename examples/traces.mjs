// Shows what a program did in a sandbox as a trace. In production an exporter of OpenTelemetry takes the place of the list.
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { Sandbox } from '@svc/sdk';
import { instrument } from '@svc/sdk/opentelemetry';

const finished = new InMemorySpanExporter();
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(finished)] }),
);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());

instrument();

await trace.getTracer('example').startActiveSpan('answer a question', async (span) => {
  const sandbox = await Sandbox.create();
  await sandbox.files.write('sum.py', 'print(sum(range(101)))');
  const { stdout } = await sandbox.commands.run('python3 sum.py; echo "$TRACEPARENT"');
  const [sum, traceparent] = stdout.split('\n');
  await sandbox.commands.run('exit 3', { check: false });
  await sandbox.kill();
  console.log(`the sum is ${sum}`);
  console.log(`the program saw the trace: ${traceparent.includes(span.spanContext().traceId)}`);
  span.end();
});

const spans = finished.getFinishedSpans();
const print = (span, indent = '') => {
  const exit = span.attributes['process.exit.code'];
  console.log(
    [indent + span.name, exit === undefined ? [] : `exit ${exit}`, span.status.message ?? []]
      .flat()
      .join(' '),
  );
  const { spanId } = span.spanContext();
  for (const child of spans) if (child.parentSpanContext?.spanId === spanId) print(child, `${indent}  `);
};
print(spans.find((span) => span.parentSpanContext === undefined));
