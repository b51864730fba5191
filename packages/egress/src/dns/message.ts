/** The one question of a DNS query. */
export interface DnsQuestion {
  id: number;
  /** In lower case, without the dot at the end; empty for the root. */
  name: string;
  type: number;
  /** Where the question ends in the message. */
  end: number;
  /** The largest answer that the client takes over UDP. */
  maxUdpBytes: number;
}

export const A = 1;
export const CNAME = 5;
/** SVCB and HTTPS. They have the keys by which names in TLS are hidden. */
export const SERVICE_BINDINGS = new Set([64, 65]);

const OPT = 41;
const IN = 1;
const HEADER = 12;
const MIN_UDP = 512;
const MAX_NAME = 255;

/** Reads a query with one question. Undefined for everything else. Never throws. */
export function parseQuery(message: Buffer): DnsQuestion | undefined {
  if (message.length < HEADER) return undefined;
  const flags = message.readUInt16BE(2);
  const isQuery = (flags & 0x8000) === 0 && (flags & 0x7800) === 0;
  if (!isQuery || message.readUInt16BE(4) !== 1) return undefined;
  const name = readName(message, HEADER);
  if (name === undefined || name.end + 4 > message.length) return undefined;
  if (message.readUInt16BE(name.end + 2) !== IN) return undefined;
  const end = name.end + 4;
  return {
    id: message.readUInt16BE(0),
    name: name.text,
    type: message.readUInt16BE(name.end),
    end,
    maxUdpBytes: readUdpSize(message, end),
  };
}

/** A reply without records. */
export function emptyReply(query: Buffer, question: DnsQuestion, code: 'ok' | 'refused' | 'failed'): Buffer {
  const reply = Buffer.from(query.subarray(0, question.end));
  const asked = reply.readUInt16BE(2);
  // Response, recursion desired as asked, recursion available.
  reply.writeUInt16BE(0x8080 | (asked & 0x0100) | { ok: 0, failed: 2, refused: 5 }[code], 2);
  reply.writeUInt16BE(0, 6);
  reply.writeUInt16BE(0, 8);
  reply.writeUInt16BE(0, 10);
  return reply;
}

/** A reply that says: ask again over TCP. */
export function truncatedReply(query: Buffer, question: DnsQuestion): Buffer {
  const reply = emptyReply(query, question, 'ok');
  reply.writeUInt16BE(reply.readUInt16BE(2) | 0x0200, 2);
  return reply;
}

/** Returns true for a message that is a reply to a query. */
export function isReplyTo(reply: Buffer, question: DnsQuestion): boolean {
  return reply.length >= HEADER && reply.readUInt16BE(0) === question.id && (reply[2]! & 0x80) !== 0;
}

export function addressQuery(id: number, name: string): Buffer {
  const labels = name.split('.').map((label) => {
    const bytes = Buffer.from(label, 'latin1');
    return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  });
  const header = Buffer.alloc(HEADER);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(0x0100, 2);
  header.writeUInt16BE(1, 4);
  return Buffer.concat([header, ...labels, Buffer.from([0, 0, A, 0, IN])]);
}

/** Returns true for a reply that is a success with records in it, as a whole. */
export function holdsRecords(reply: Buffer): boolean {
  if (reply.length < HEADER) return false;
  const truncated = (reply[2]! & 0x02) !== 0;
  return !truncated && (reply[3]! & 0x0f) === 0 && reply.readUInt16BE(6) > 0;
}

/** A copy of a reply whose records hold for no more than so many seconds. Undefined for garbage. Never throws. */
export function withTtl(reply: Buffer, seconds: number): Buffer | undefined {
  if (reply.length < HEADER) return undefined;
  const copy = Buffer.from(reply);
  let at = HEADER;
  for (let left = copy.readUInt16BE(4); left > 0; left--) {
    const name = readName(copy, at);
    if (name === undefined) return undefined;
    at = name.end + 4;
  }
  for (let left = recordCount(copy); left > 0; left--) {
    const name = readName(copy, at);
    if (name === undefined || name.end + 10 > copy.length) return undefined;
    // The field has no time in an OPT record.
    if (copy.readUInt16BE(name.end) !== OPT)
      copy.writeUInt32BE(Math.min(seconds, copy.readUInt32BE(name.end + 4)), name.end + 4);
    at = name.end + 10 + copy.readUInt16BE(name.end + 8);
    if (at > copy.length) return undefined;
  }
  return copy;
}

function recordCount(message: Buffer): number {
  return message.readUInt16BE(6) + message.readUInt16BE(8) + message.readUInt16BE(10);
}

/** The IPv4 addresses in a reply, and for how many seconds they hold. Empty for a failure or garbage. Never throws. */
export function addressesOf(reply: Buffer): { addresses: string[]; ttlSeconds: number } {
  const nothing = { addresses: [], ttlSeconds: 0 };
  if (reply.length < HEADER || (reply[3]! & 0x0f) !== 0) return nothing;
  let at = HEADER;
  for (let left = reply.readUInt16BE(4); left > 0; left--) {
    const name = readName(reply, at);
    if (name === undefined) return nothing;
    at = name.end + 4;
  }
  const addresses: string[] = [];
  let ttlSeconds = Number.POSITIVE_INFINITY;
  for (let left = reply.readUInt16BE(6); left > 0; left--) {
    const name = readName(reply, at);
    if (name === undefined || name.end + 10 > reply.length) break;
    const type = reply.readUInt16BE(name.end);
    const length = reply.readUInt16BE(name.end + 8);
    at = name.end + 10 + length;
    if (at > reply.length) break;
    if (type !== A && type !== CNAME) continue;
    ttlSeconds = Math.min(ttlSeconds, reply.readUInt32BE(name.end + 4));
    if (type === A && length === 4) addresses.push([...reply.subarray(at - 4, at)].join('.'));
  }
  return { addresses, ttlSeconds: addresses.length === 0 ? 0 : ttlSeconds };
}

/** A name and where it ends. Pointers lead back only, so that reading ends. */
function readName(message: Buffer, start: number): { text: string; end: number } | undefined {
  const labels: string[] = [];
  let at = start;
  let end: number | undefined;
  let size = 0;
  for (;;) {
    const length = message[at];
    if (length === undefined) return undefined;
    if (length === 0) return { text: labels.join('.').toLowerCase(), end: end ?? at + 1 };
    if (length >= 0xc0) {
      const low = message[at + 1];
      if (low === undefined) return undefined;
      const target = ((length & 0x3f) << 8) | low;
      end ??= at + 2;
      if (target >= at) return undefined;
      at = target;
    } else if (length > 63) return undefined;
    else {
      size += length + 1;
      if (size > MAX_NAME || at + 1 + length > message.length) return undefined;
      const label = message.toString('latin1', at + 1, at + 1 + length);
      // A dot inside a label would make it another name in a text.
      if (label.includes('.')) return undefined;
      labels.push(label);
      at += 1 + length;
    }
  }
}

function readUdpSize(message: Buffer, start: number): number {
  let at = start;
  for (let left = recordCount(message); left > 0; left--) {
    const name = readName(message, at);
    if (name === undefined || name.end + 10 > message.length) break;
    if (message.readUInt16BE(name.end) === OPT) return Math.max(MIN_UDP, message.readUInt16BE(name.end + 2));
    at = name.end + 10 + message.readUInt16BE(name.end + 8);
  }
  return MIN_UDP;
}
