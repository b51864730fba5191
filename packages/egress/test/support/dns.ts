import { parseQuery } from '../../src/dns/message.js';

export function nameOf(query: Uint8Array): string {
  return parseQuery(Buffer.from(query))!.name;
}

/** A reply with addresses; without any, that there is no such name. */
export function addressesReply(query: Uint8Array, addresses: string[] | undefined): Buffer {
  const message = Buffer.from(query);
  const { end } = parseQuery(message)!;
  const head = Buffer.from(message.subarray(0, end));
  head.writeUInt16BE(addresses === undefined ? 0x8183 : 0x8180, 2);
  head.writeUInt16BE(addresses?.length ?? 0, 6);
  head.writeUInt16BE(0, 10);
  const records = (addresses ?? []).map((address) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4, ...address.split('.').map(Number)]),
  );
  return Buffer.concat([head, ...records]);
}
