import type { CheckpointStore } from './checkpoint-store.js';
import type { LayerStore } from './layer-store.js';

/** What instances store things in. */
export interface Stores {
  layers: LayerStore;
  checkpoints: CheckpointStore;
}
