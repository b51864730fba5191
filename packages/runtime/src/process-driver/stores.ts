import { DriverError } from '../contract/errors.js';
import type { CheckpointStore } from './checkpoint-store.js';
import type { LayerStore } from './layer-store.js';

/** What instances store things in. */
export interface Stores {
  layers: LayerStore;
  checkpoints: CheckpointStore;
}

export function noSuch(what: 'layer' | 'checkpoint'): DriverError {
  return new DriverError('not_found', `There is no such ${what}.`);
}
