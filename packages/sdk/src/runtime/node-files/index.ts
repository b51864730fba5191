import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { LocalFiles } from '../contract/local-files.js';
import { extract } from './extract.js';
import { gzip } from './gzip.js';
import { pack } from './pack.js';
import { find, walk } from './walk.js';

/** Files of this machine, with Node's modules. */
export const localFiles: LocalFiles = {
  resolve: (path, base = '.') => resolve(base, path),
  find,
  isDirectory: async (path) => (await stat(path).catch(() => undefined))?.isDirectory() ?? false,
  walk,
  read: (path) => createReadStream(path),
  sha256: async (source) => {
    const hash = createHash('sha256');
    for await (const chunk of source) hash.update(chunk);
    return hash.digest('hex');
  },
  pack,
  gzip,
  extract,
};
