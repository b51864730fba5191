import type { CheckpointStore } from './checkpoint-store.js';
import type { LayerStore } from './layer-store.js';

/** The stores of instances. */
export interface Stores {
  layers: LayerStore;
  checkpoints: CheckpointStore;
}
