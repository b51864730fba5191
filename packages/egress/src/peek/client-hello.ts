/** The offers of a client in its first TLS message. */
export interface ClientHello {
  /** Server name: the outer one, where another is hidden in the message. Undefined without one. */
  host?: string;
  /** Application protocols, in the client's order. */
  protocols: string[];
}

/** `more`: the message is not complete. `none`: this is not the beginning of TLS. */
export type ClientHelloState = { state: 'more' | 'none' } | { state: 'read'; hello: ClientHello };

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const ALPN = 16;
const MAX_RECORD = 2 ** 14 + 256;

/** Reads the ClientHello at the beginning of a connection, however it is split into records and segments. Never throws. */
export function readClientHello(bytes: Buffer): ClientHelloState {
  const message = joinRecords(bytes);
  if (!Buffer.isBuffer(message)) return { state: message };
  if (message.length < 4) return { state: 'more' };
  if (message[0] !== CLIENT_HELLO) return { state: 'none' };
  const length = message.readUIntBE(1, 3);
  if (message.length < 4 + length) return { state: 'more' };
  const hello = parseHello(message.subarray(4, 4 + length));
  return hello === undefined ? { state: 'none' } : { state: 'read', hello };
}

/** The bytes of the handshake so far: the contents of its records, one after another. */
function joinRecords(bytes: Buffer): Buffer | 'more' | 'none' {
  const parts: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (bytes[at] !== HANDSHAKE) return parts.length === 0 ? 'none' : Buffer.concat(parts);
    if (at + 1 < bytes.length && bytes[at + 1] !== 3) return 'none';
    if (at + 5 > bytes.length) break;
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0 || length > MAX_RECORD) return 'none';
    parts.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return parts.length === 0 ? 'more' : Buffer.concat(parts);
}

function parseHello(body: Buffer): ClientHello | undefined {
  const reader = new Reader(body);
  reader.skip(2 + 32);
  reader.skip(reader.number(1));
  reader.skip(reader.number(2));
  reader.skip(reader.number(1));
  const hello: ClientHello = { protocols: [] };
  const extensions = reader.left === 0 ? new Reader(Buffer.alloc(0)) : reader.block(2);
  while (!extensions.failed && extensions.left > 0) {
    const type = extensions.number(2);
    const content = extensions.block(2);
    if (type === SERVER_NAME) {
      const host = readServerName(content);
      if (host !== undefined) hello.host = host;
    }
    if (type === ALPN) hello.protocols = readProtocols(content);
  }
  return reader.failed || extensions.failed ? undefined : hello;
}

function readServerName(content: Reader): string | undefined {
  const names = content.block(2);
  while (!names.failed && names.left > 0) {
    const type = names.number(1);
    const name = names.block(2);
    if (type === 0 && !name.failed) return name.text();
  }
  return undefined;
}

function readProtocols(content: Reader): string[] {
  const list = content.block(2);
  const protocols: string[] = [];
  while (!list.failed && list.left > 0) protocols.push(list.block(1).text());
  return protocols;
}

/** Reads big-endian numbers and blocks. Past the end it gives zeros and remembers that it failed. */
class Reader {
  failed = false;
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  number(size: 1 | 2): number {
    if (this.left < size) return this.#fail();
    this.#at += size;
    return this.#bytes.readUIntBE(this.#at - size, size);
  }

  skip(size: number): void {
    if (this.left < size) this.#fail();
    else this.#at += size;
  }

  /** A block with its length before it. */
  block(lengthSize: 1 | 2): Reader {
    const length = this.number(lengthSize);
    const start = this.#at;
    this.skip(length);
    return new Reader(this.failed ? Buffer.alloc(0) : this.#bytes.subarray(start, start + length));
  }

  text(): string {
    return this.#bytes.toString('latin1');
  }

  #fail(): 0 {
    this.failed = true;
    this.#at = this.#bytes.length;
    return 0;
  }
}
