import { channel } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import type { Runtime } from './adapter.js';

/** Node, and runtimes that speak its modules. */
export const runtime: Runtime = {
  kind: 'node',
  userAgent: `node/${process.versions.node}`,
  environment: () => process.env,
  channel,
  localFiles: async () => (await import('./node-files/index.js')).localFiles,
  readLocalText: (path) => readFileSync(path, 'utf8'),
};
