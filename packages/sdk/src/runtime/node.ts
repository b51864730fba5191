import type { Runtime } from './contract/adapter.js';

/**
 * A module of Node's own. Asked for by name, because an `import` of `node:fs` makes Node evaluate all that it exports,
 * streams included: half of the time that importing this package took.
 */
const builtin = process.getBuiltinModule;

/** Node, and runtimes that speak its modules. */
export const runtime: Runtime = {
  kind: 'node',
  userAgent: `node/${process.versions.node}`,
  environment: () => process.env,
  channel: (name) => builtin('node:diagnostics_channel').channel(name),
  localFiles: async () => (await import('./node-files/index.js')).localFiles,
  readLocalText: (path) => builtin('node:fs').readFileSync(path, 'utf8'),
};
