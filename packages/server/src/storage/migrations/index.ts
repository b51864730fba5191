import type { Migration } from '../migration.js';
import { initial } from './001-initial.js';

/** In the order in which they apply. */
export const migrations: readonly Migration[] = [initial];
