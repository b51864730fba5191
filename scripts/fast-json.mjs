// An esbuild plugin that puts `json-bytes.js` around the JSON serialization of the RPC library.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MODULE = /[\\/]@connectrpc[\\/]connect[\\/]dist[\\/]\w+[\\/]protocol[\\/]serialization\.js$/;
const FAST = join(dirname(fileURLToPath(import.meta.url)), 'json-bytes.js');
const ORIGINAL = 'export function createJsonSerialization(';

export const fastJson = {
  name: 'fast-json',
  setup(bundle) {
    bundle.onLoad({ filter: MODULE }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      if (!text.includes(ORIGINAL)) throw new Error(`${path}: no longer has ${ORIGINAL}`);
      const contents = `
import { withFastBytes } from 'svc:json-bytes';
${text.replace(ORIGINAL, 'function generalJsonSerialization(')}
export function createJsonSerialization(desc, options) {
  return withFastBytes(desc, generalJsonSerialization(desc, options));
}
`;
      return { contents, loader: 'js', resolveDir: dirname(path) };
    });
    bundle.onResolve({ filter: /^svc:json-bytes$/ }, () => ({ path: FAST }));
  },
};
