/** Changes an archive a little; mostly with corrected checksums, so that the change gets past the first look. */
export function forgeArchive(seed: Buffer, random: () => number): Buffer {
  const pick = (below: number) => Math.floor(random() * below);
  let forged = Buffer.from(seed);
  for (let changes = 1 + pick(4); changes > 0; changes -= 1) {
    switch (pick(5)) {
      case 0:
        forged[pick(forged.length)] = pick(256);
        break;
      case 1: {
        // A field of a header: name, mode, size, type, link, magic, prefix.
        const at =
          pick(forged.length / 512) * 512 + [0, 100, 124, 124, 135, 156, 156, 157, 257, 345][pick(10)]!;
        forged[at] = [0, 0x20, 0x2f, 0x30, 0x37, 0x4c, 0x67, 0x78, 0x80, 0xff][pick(10)]!;
        break;
      }
      case 2:
        forged = Buffer.from(forged.subarray(0, pick(forged.length)));
        break;
      case 3: {
        const block = pick(forged.length / 512) * 512;
        const copied = forged.subarray(block, block + 512);
        forged = Buffer.concat([forged.subarray(0, block), copied, forged.subarray(block)]);
        break;
      }
      default: {
        const digit = forged.indexOf('=');
        if (digit > 0) forged[digit - 1 - pick(8)] = 0x30 + pick(10);
      }
    }
    if (forged.length < 512) return forged;
  }
  if (random() < 0.9) for (let at = 0; at + 512 <= forged.length; at += 512) putChecksum(forged, at);
  return forged;
}

function putChecksum(archive: Buffer, at: number): void {
  if (archive.toString('latin1', at + 257, at + 262) !== 'ustar') return;
  archive.write('        ', at + 148);
  let sum = 0;
  for (const byte of archive.subarray(at, at + 512)) sum += byte;
  archive.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148);
}

/** Numbers from 0 to 1 that are the same for the same seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
