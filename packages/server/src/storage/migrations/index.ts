import { initial } from './001-initial.js';
import { ages } from './002-ages.js';
import { daemonGeneration } from './003-daemon-generation.js';
import { encryptedColumns } from './004-encrypted-columns.js';
import { audit } from './005-audit.js';
import { nodes } from './006-nodes.js';
import { keyExpiry } from './007-key-expiry.js';
import { volumeNodes } from './008-volume-nodes.js';
import { teamUsage } from './009-team-usage.js';
import { teamRunning } from './010-team-running.js';
import { objectCopies } from './011-object-copies.js';
import { redelivery } from './012-redelivery.js';
import { eventOrder } from './013-event-order.js';
import { webhookTurns } from './014-webhook-turns.js';
import { buildFileNodes } from './015-build-file-nodes.js';
import type { NumberedMigration } from './migration.js';

/** In the order in which they apply. */
export const migrations: readonly NumberedMigration[] = [
  initial,
  ages,
  daemonGeneration,
  encryptedColumns,
  audit,
  nodes,
  keyExpiry,
  volumeNodes,
  teamUsage,
  teamRunning,
  objectCopies,
  redelivery,
  eventOrder,
  webhookTurns,
  buildFileNodes,
];
