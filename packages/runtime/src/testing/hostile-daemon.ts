import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { frameHead } from '#support/connect-frames';

/** The answer of a program that took the daemon's port. */
export type HostileAnswer = (socket: Socket) => void;

/** Writes a piece again and again, as fast as it is taken, until the connection closes. */
function endless(socket: Socket, piece: Buffer | string): void {
  const write = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', write);
  write();
}

/** Writes a text one byte at a time. */
function slowly(socket: Socket, text: string): void {
  let at = 0;
  const timer = setInterval(() => {
    if (socket.destroyed || at >= text.length) clearInterval(timer);
    else socket.write(text[at++] ?? '');
  }, 50);
  socket.once('close', () => clearInterval(timer));
}

const OK = 'HTTP/1.1 200 OK\r\n';
const json = (body: string) =>
  `${OK}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const frame = (flags: number, length: number, body = '') =>
  Buffer.concat([frameHead(length, flags), Buffer.from(body)]);
const stream = `${OK}Content-Type: application/connect+proto\r\nTransfer-Encoding: chunked\r\n\r\n`;
const chunk = (body: Buffer) =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')]);
const logs = (...entries: unknown[]) => json(JSON.stringify({ entries, next: 1, dropped: 0 }));
const entry = {
  seq: 1,
  timestamp: '2026-01-01T00:00:00Z',
  level: 'info',
  message: 'line',
  fields: { pid: 1, stream: 'stdout' },
};

/** Answers that no daemon gives, by what is wrong with them. None of them may cost more than the call that met it. */
export const hostileAnswers: Readonly<Record<string, HostileAnswer>> = {
  'an endless body': (socket) => {
    socket.write(`${OK}\r\n`);
    endless(socket, Buffer.alloc(256 * 1024, 0x61));
  },
  'an endless body in chunks': (socket) => {
    socket.write(stream);
    endless(socket, chunk(Buffer.alloc(256 * 1024, 0x61)));
  },
  'an endless extension of a chunk': (socket) => {
    socket.write(`${stream}5;`);
    endless(socket, Buffer.alloc(64 * 1024, 0x61));
  },
  'endless trailers': (socket) => {
    socket.write(`${stream}0\r\n`);
    endless(socket, 'a: b\r\n'.repeat(1000));
  },
  '100,000 headers': (socket) => {
    socket.write(OK);
    socket.write('x: y\r\n'.repeat(100_000));
    socket.write('\r\n');
  },
  'endless headers': (socket) => {
    socket.write(OK);
    endless(socket, 'x: y\r\n'.repeat(1000));
  },
  'one huge header': (socket) => {
    socket.write(`${OK}x: `);
    endless(socket, Buffer.alloc(64 * 1024, 0x61));
  },
  'a storm of interim answers': (socket) => endless(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(500)),
  'interim answers with broken links': (socket) =>
    socket.write(
      `${'HTTP/1.1 103 Early Hints\r\nLink: <<;;"\r\n\r\n'.repeat(3)}${OK}Content-Length: 0\r\n\r\n`,
    ),
  'a storm of 100 Continue': (socket) => endless(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(500)),
  'another protocol': (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello'),
  'a redirect': (socket) =>
    socket.write('HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n'),
  'a status of 999': (socket) => socket.write('HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n'),
  'a status of 000': (socket) => socket.write('HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n'),
  'no HTTP at all': (socket) => socket.write('\0\u0001\u0002 hello\r\n\r\n'),
  'HTTP/0.9': (socket) => socket.end('<html>hello</html>\n'),
  'HTTP/2': (socket) => socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  'a body longer than announced': (socket) => socket.write(`${OK}Content-Length: 2\r\n\r\n{}{}{}{}{}`),
  'a body shorter than announced': (socket) => socket.end(`${OK}Content-Length: 100\r\n\r\n{}`),
  'two lengths': (socket) => socket.write(`${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`),
  'a negative length': (socket) => socket.write(`${OK}Content-Length: -1\r\n\r\n{}`),
  'a length beyond all bounds': (socket) =>
    socket.write(`${OK}Content-Length: 99999999999999999999\r\n\r\n{}`),
  'a broken size of a chunk': (socket) => socket.write(`${stream}zz\r\n{}\r\n0\r\n\r\n`),
  'a connection reset in the head': (socket) => {
    socket.write('HTTP/1.1 200 O');
    socket.resetAndDestroy();
  },
  'a connection reset in the body': (socket) => {
    socket.write(`${OK}Content-Length: 100\r\n\r\n{`, () => socket.resetAndDestroy());
  },
  'an end without an answer': (socket) => socket.end(),
  silence: () => undefined,
  'bytes that come slowly': (socket) => slowly(socket, `${OK}Content-Length: 100000\r\n\r\n`.padEnd(100_000)),
  'trailers with forbidden names': (socket) =>
    socket.write(
      `${stream}2\r\n{}\r\n0\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\nHost: x\r\n\r\n`,
    ),
  'a frame of 4 GiB': (socket) => {
    socket.write(stream);
    socket.write(chunk(frame(0, 0xffffffff, '{')));
    endless(socket, chunk(Buffer.alloc(256 * 1024, 0x61)));
  },
  'frames with unknown flags': (socket) =>
    socket.write(Buffer.concat([Buffer.from(stream), chunk(frame(0xff, 2, '{}'))])),
  'an endless stream of empty frames': (socket) => {
    socket.write(stream);
    endless(socket, chunk(Buffer.concat(Array.from({ length: 1000 }, () => frame(0, 2, '{}')))));
  },
  'an end frame that is no JSON': (socket) =>
    socket.write(Buffer.concat([Buffer.from(stream), chunk(frame(2, 5, 'hello'))])),
  'invalid JSON': (socket) => socket.write(json('{"entries": [')),
  'JSON a million levels deep': (socket) => socket.write(json('['.repeat(1_000_000))),
  'JSON of a million values': (socket) => socket.write(json(`{"entries": [${'{},'.repeat(1_000_000)}{}]}`)),
  'JSON of the wrong kind': (socket) => socket.write(json('null')),
  'entries that are no list': (socket) => socket.write(json('{"entries": {"length": 5}}')),
  'more entries than asked for': (socket) =>
    socket.write(logs(...Array.from({ length: 5000 }, (_, at) => ({ ...entry, seq: at + 1 })))),
  'entries that are null': (socket) => socket.write(logs(null)),
  'a message that is no text': (socket) => socket.write(logs({ ...entry, message: { toString: 1 } })),
  'fields that are no map': (socket) => socket.write(logs({ ...entry, fields: [[[]]] })),
  'a prototype among the fields': (socket) =>
    socket.write(
      json(
        '{"entries":[{"seq":1,"timestamp":"2026-01-01T00:00:00Z","level":"info","message":"x","fields":{"__proto__":{"a":"b"}}}]}',
      ),
    ),
  'a negative number': (socket) => socket.write(logs({ ...entry, seq: -5 })),
  'a number beyond all bounds': (socket) => socket.write(logs({ ...entry, seq: 1e308 })),
  'numbers that fall': (socket) => socket.write(logs({ ...entry, seq: 2 }, { ...entry, seq: 1 })),
  'a time that is none': (socket) => socket.write(logs({ ...entry, timestamp: 'now' })),
  'a time of the far future': (socket) =>
    socket.write(logs({ ...entry, timestamp: '+275760-09-13T00:00:00Z' })),
  'a time that is a number': (socket) => socket.write(logs({ ...entry, timestamp: 1e300 })),
};

export interface HostileDaemon extends AsyncDisposable {
  /** On 127.0.0.1. */
  readonly port: number;
}

/** Listens on loopback and gives every request the same answer. */
export async function startHostileDaemon(answer: HostileAnswer): Promise<HostileDaemon> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => open.delete(socket));
    socket.once('data', () => answer(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
