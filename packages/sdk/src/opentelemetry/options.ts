import type { MeterProvider, TextMapPropagator, TracerProvider } from '@opentelemetry/api';

/** Signals to record, and their receivers. Default: the ones that the program registered with `@opentelemetry/api`. */
export interface OpenTelemetryOptions {
  /** Makes spans. Default: the global one, at the time of each operation. */
  tracerProvider?: TracerProvider | undefined;
  /** Makes instruments of metrics. Default: the global one, when the first operation begins. */
  meterProvider?: MeterProvider | undefined;
  /** Writes the context into requests. Default: the global one. */
  propagator?: TextMapPropagator | undefined;
  /**
   * Records the command line of programs as `process.command_line`, its first 1024 characters. Default false: command lines
   * hold keys and what users typed.
   */
  commandLine?: boolean | undefined;
  /**
   * Sends the `baggage` header too. Default false: what runs in a sandbox could read it. `traceparent` and `tracestate` are
   * sent where the propagator writes them.
   */
  baggage?: boolean | undefined;
}
