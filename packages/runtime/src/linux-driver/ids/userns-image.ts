import { IDS } from './id-ranges.js';

/** In front of the message in an image of CRIU: what it is, in two numbers, and the message's length. */
const HEADER_BYTES = 12;
const UID_MAP = 1;
const GID_MAP = 2;

/**
 * The image in which CRIU keeps how the ids of a user namespace are mapped, for another range of the host. All other images
 * hold ids as programs inside see them.
 * @param image as it was dumped, with any range.
 */
export function moveUserNamespace(image: Buffer, firstId: number): Buffer {
  const extent = message([
    [1, 0],
    [2, firstId],
    [3, IDS],
  ]);
  const maps = Buffer.concat(
    [UID_MAP, GID_MAP].flatMap((field) => [key(field, 2), varint(extent.length), extent]),
  );
  const header = Buffer.from(image.subarray(0, HEADER_BYTES));
  header.writeUInt32LE(maps.length, HEADER_BYTES - 4);
  return Buffer.concat([header, maps]);
}

function message(fields: [number: number, value: number][]): Buffer {
  return Buffer.concat(fields.flatMap(([number, value]) => [key(number, 0), varint(value)]));
}

function key(field: number, type: number): Buffer {
  return varint(field * 8 + type);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Buffer.from([...bytes, rest]);
}
