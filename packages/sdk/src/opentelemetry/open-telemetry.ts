import { context, createContextKey, diag, propagation, SpanKind, trace } from '@opentelemetry/api';
import { sdkVersion } from '../config/version.js';
import type { OperationObserver, OperationStart, Telemetry } from '../core/telemetry.js';
import { nameOf, startAttributes } from './attributes.js';
import { createInstruments, type Instruments } from './instruments.js';
import { OperationSpan } from './operation-span.js';
import type { OpenTelemetryOptions } from './options.js';

/** The key by which instrumentations and propagators of OpenTelemetry know that they should do nothing. */
const suppressed = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

/**
 * Records calls and commands as spans and metrics of OpenTelemetry, and sends the context of each span with its requests.
 * A command's span lasts until its end. Contents, variables, keys and messages of errors are never recorded. Needs
 * `@opentelemetry/api`; without an SDK registered there it passes on the context alone.
 * @example
 * const client = new Client({ telemetry: openTelemetry() });
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  let instruments: Instruments | undefined;
  return {
    begin(start) {
      try {
        instruments ??= createInstruments(options.meterProvider);
        return begin(start, options, instruments);
      } catch (error) {
        // The registered tracer must not break what is observed.
        diag.error('@svc/sdk/opentelemetry: an operation is not recorded', error);
        return unobserved;
      }
    },
  };
}

const unobserved: OperationObserver = { headers: {}, run: (work) => work(), tell: () => {} };

function begin(
  start: OperationStart,
  options: OpenTelemetryOptions,
  instruments: Instruments,
): OperationObserver {
  const { tracerProvider = trace, propagator = propagation, commandLine = false, baggage = false } = options;
  const parent = context.active();
  const span = tracerProvider
    .getTracer('@svc/sdk', sdkVersion)
    .startSpan(
      nameOf(start.operation),
      { kind: SpanKind.CLIENT, attributes: startAttributes(start, commandLine) },
      parent,
    );
  const own = trace.setSpan(parent, span);
  const headers: Record<string, string> = {};
  propagator.inject(own, headers, {
    set(carrier, name, value) {
      if (baggage || name.toLowerCase() !== 'baggage') carrier[name] = value;
    },
  });
  // The span is the one of the request: an instrumentation of fetch would add a second one, and its header to ours.
  const quiet = own.setValue(suppressed, true);
  const operation = new OperationSpan(span, start, instruments);
  return {
    headers,
    run: (work) => context.with(quiet, work),
    tell(event) {
      try {
        operation.tell(event);
      } catch (error) {
        diag.error('@svc/sdk/opentelemetry: an event is not recorded', error);
      }
    },
  };
}
