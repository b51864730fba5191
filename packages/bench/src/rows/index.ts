import type { Row } from '../row.js';
import { bigProgram } from './big-program.js';
import { browserBundle } from './browser-bundle.js';
import { burstsAgain } from './bursts.js';
import { cluster } from './cluster.js';
import { coldScript } from './cold-script.js';
import { create } from './create.js';
import { crowd } from './crowd.js';
import { fork } from './fork.js';
import { hostility } from './hostility.js';
import { idleCost } from './idle-cost.js';
import { idleMemory } from './idle-memory.js';
import { importTime } from './import-time.js';
import { lives } from './lives.js';
import { runTrue } from './run-true.js';
import { serviceCost } from './service-cost.js';
import { stdio } from './stdio.js';
import { tiers } from './tiers.js';
import { transfer } from './transfer.js';
import { unaryOverhead } from './unary-overhead.js';

/** Every benchmark, in the order of the table. */
export const rows: readonly Row[] = [
  importTime,
  coldScript,
  unaryOverhead,
  browserBundle,
  create,
  burstsAgain,
  crowd,
  lives,
  runTrue,
  serviceCost,
  fork,
  bigProgram,
  transfer,
  stdio,
  idleMemory,
  idleCost,
  hostility,
  tiers,
  cluster,
];
