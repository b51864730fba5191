import { DriverError } from '../contract/errors.js';

const LABELS_LIMIT_BYTES = 4096;

/** @throws {DriverError} `invalid_spec` when the labels take more than 4 KiB as JSON. */
export function requireLabels(labels: Record<string, string>): void {
  if (Buffer.byteLength(JSON.stringify(labels)) > LABELS_LIMIT_BYTES) {
    throw new DriverError('invalid_spec', 'The labels of an instance take more than 4 KiB.');
  }
}
