import type { Stats } from 'node:fs';
import { type FieldReader, uint32, uint64 } from './packet.js';

/** What a client sets; absent: it stays. */
export interface Attributes {
  size?: number;
  owner?: { uid: number; gid: number };
  mode?: number;
  /** Seconds since 1970. */
  times?: { accessed: number; modified: number };
}

const SIZE = 1;
const OWNER = 2;
const MODE = 4;
const TIMES = 8;

/** Extended attributes, which stand at the end, are not looked at. Pure. */
export function readAttributes(reader: FieldReader): Attributes {
  const flags = reader.uint32();
  return {
    ...(flags & SIZE ? { size: reader.uint64() } : {}),
    ...(flags & OWNER ? { owner: { uid: reader.uint32(), gid: reader.uint32() } } : {}),
    ...(flags & MODE ? { mode: reader.uint32() & 0o7777 } : {}),
    ...(flags & TIMES ? { times: { accessed: reader.uint32(), modified: reader.uint32() } } : {}),
  };
}

/** Pure. */
export function writeAttributes(stats: Stats): Buffer {
  return Buffer.concat([
    uint32(SIZE | OWNER | MODE | TIMES),
    uint64(stats.size),
    uint32(stats.uid),
    uint32(stats.gid),
    uint32(stats.mode),
    uint32(Math.floor(stats.atimeMs / 1000)),
    uint32(Math.floor(stats.mtimeMs / 1000)),
  ]);
}
