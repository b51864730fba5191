import type { Duplex } from 'node:stream';

// Frames of HTTP/2 as nobody's library would send them.

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const TYPES = { data: 0, headers: 1, settings: 4 };
const END_STREAM = 1;
const END_HEADERS = 4;

export function frame(type: keyof typeof TYPES, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = TYPES[type];
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Header fields, each a literal that is not indexed. */
export function headersFrame(stream: number, fields: [string, string][], { end = true } = {}): Buffer {
  const text = (value: string) => {
    const bytes = Buffer.from(value, 'latin1');
    if (bytes.length > 126) throw new RangeError('too long for one byte');
    return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  };
  const parts = fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]);
  return frame('headers', END_HEADERS | (end ? END_STREAM : 0), stream, Buffer.concat(parts));
}

/** The frames that begin a connection: of a client with the words before it. */
export const settings = frame('settings', 0, 0, Buffer.alloc(0));
export const clientBeginning = Buffer.concat([Buffer.from(PREFACE), settings]);

export const requestFields = (host: string): [string, string][] => [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', host],
];

/** Waits until a frame about the stream comes, or the connection ends. */
export function untilAnswered(socket: Duplex, stream: number): Promise<void> {
  return new Promise((resolve) => {
    let bytes = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
        if (bytes.readUInt32BE(5) === stream) resolve();
        bytes = bytes.subarray(9 + bytes.readUIntBE(0, 3));
      }
    });
    socket.once('close', resolve).once('end', resolve);
  });
}
