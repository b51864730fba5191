import { type Attributes, type MeterProvider, metrics } from '@opentelemetry/api';
import { sdkVersion } from '../config/version.js';

/** Upper bounds of the duration histograms, seconds: from a warm command to a long job. */
const secondBounds = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];

/** The metrics of the SDK. */
export interface Instruments {
  /** A call ended. Seconds. */
  request(seconds: number, attributes: Attributes): void;
  /** A program that was followed ended. Seconds. */
  command(seconds: number, attributes: Attributes): void;
  /** A program began (1) or ended (-1). */
  active(change: 1 | -1): void;
  retry(attributes: Attributes): void;
  transfer(bytes: number, attributes: Attributes): void;
}

export function createInstruments(provider: MeterProvider | undefined): Instruments {
  const meter = (provider ?? metrics).getMeter('@svc/sdk', sdkVersion);
  const seconds = { unit: 's', advice: { explicitBucketBoundaries: secondBounds } };
  const request = meter.createHistogram('svc.client.request.duration', {
    ...seconds,
    description: 'Duration of calls to the service, retries included.',
  });
  const command = meter.createHistogram('svc.client.command.duration', {
    ...seconds,
    description: 'From the start of a program to its end.',
  });
  const active = meter.createUpDownCounter('svc.client.commands', {
    unit: '{command}',
    description: 'Programs that are being followed.',
  });
  const retries = meter.createCounter('svc.client.retries', {
    unit: '{retry}',
    description: 'Attempts that were made again.',
  });
  const io = meter.createCounter('svc.client.io', {
    unit: 'By',
    description: 'Content of files that was sent or received.',
  });
  return {
    request: (value, attributes) => request.record(value, attributes),
    command: (value, attributes) => command.record(value, attributes),
    active: (change) => active.add(change),
    retry: (attributes) => retries.add(1, attributes),
    transfer: (bytes, attributes) => io.add(bytes, attributes),
  };
}
