// An esbuild plugin for what travels as `bytes` in JSON, which is every byte of a program's input and output: where
// Node's Buffer is, it does the base64 work of protobuf-es, whose own loops over single characters cost many times more.
// Everything unusual (white-space, inner padding, errors) is still left to the library.
import { dirname } from 'node:path';

const MODULE = /[\\/]@bufbuild[\\/]protobuf[\\/]dist[\\/]\w+[\\/]wire[\\/]base64-encoding\.js$/;
const PLAIN = 'svc-plain-base64';

const CONTENTS = (original) => `
import { base64Decode as plainDecode, base64Encode as plainEncode } from ${JSON.stringify(`${PLAIN}:${original}`)};
const { Buffer } = globalThis;
const WELL_FORMED = /^[A-Za-z0-9+/_-]*={0,2}$/;
// Below this size Node cuts buffers from a shared block, which must not reach callers.
const POOLED_BELOW = 4096;
export function base64Decode(text) {
  if (Buffer === undefined || text.length % 4 !== 0 || !WELL_FORMED.test(text)) return plainDecode(text);
  const bytes = Buffer.from(text, 'base64');
  return bytes.length < POOLED_BELOW ? new Uint8Array(bytes) : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}
export function base64Encode(bytes, encoding = 'std') {
  if (Buffer === undefined || encoding !== 'std') return plainEncode(bytes, encoding);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
`;

export const fastBase64 = {
  name: 'fast-base64',
  setup(bundle) {
    bundle.onLoad({ filter: MODULE }, ({ path, suffix }) =>
      suffix === '' ? { contents: CONTENTS(path), loader: 'js', resolveDir: dirname(path) } : undefined,
    );
    bundle.onResolve({ filter: new RegExp(`^${PLAIN}:`) }, ({ path }) => ({
      path: path.slice(PLAIN.length + 1),
      // A suffix makes it another module than the one that is replaced.
      suffix: '?plain',
    }));
  },
};
