import { initial } from './001-initial.js';
import { ages } from './002-ages.js';
import { daemonGeneration } from './003-daemon-generation.js';
import type { Migration } from './migration.js';

/** In the order in which they apply. */
export const migrations: readonly Migration[] = [initial, ages, daemonGeneration];
