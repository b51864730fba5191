import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { readClientHello } from '../../src/peek/client-hello.js';
import { readRequestLine } from '../../src/peek/request-line.js';

/** The first message that a client sends. */
async function helloFor(options: object): Promise<Buffer> {
  const sink = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      sink.emit('hello', chunk);
      done();
    },
  });
  const heard = once(sink, 'hello');
  const client = connectTls({ socket: sink as never, ...options });
  client.on('error', () => undefined);
  const [hello] = await heard;
  client.destroy();
  return hello as Buffer;
}

describe('a ClientHello', () => {
  it('finds name and protocols, however it is cut', async () => {
    const bytes = await helloFor({ servername: 'a.example', ALPNProtocols: ['h2', 'http/1.1'] });
    const hello = { host: 'a.example', protocols: ['h2', 'http/1.1'] };
    expect(readClientHello(bytes)).toEqual({ state: 'read', hello });
    for (let end = 0; end < bytes.length; end++)
      expect(readClientHello(bytes.subarray(0, end)).state).toBe('more');
    // In records of one byte each.
    const records = [...bytes.subarray(5)].map((byte) => Buffer.from([22, 3, 1, 0, 1, byte]));
    expect(readClientHello(Buffer.concat(records))).toEqual({ state: 'read', hello });
  });

  it('may have no name', async () => {
    expect(readClientHello(await helloFor({ servername: '' }))).toMatchObject({
      state: 'read',
      hello: { protocols: [] },
    });
  });

  it('finds the outer name where another is hidden in it', async () => {
    const bytes = await helloFor({ servername: 'outer.example' });
    const extension = Buffer.from([0xfe, 0x0d, 0, 1, 0]);
    const longer = Buffer.concat([bytes, extension]);
    // The lengths of record, message and list of extensions grow.
    longer.writeUInt16BE(bytes.readUInt16BE(3) + 5, 3);
    longer.writeUIntBE(bytes.readUIntBE(6, 3) + 5, 6, 3);
    let at = 9 + 34;
    at += 1 + bytes[at]!;
    at += 2 + bytes.readUInt16BE(at);
    at += 1 + bytes[at]!;
    longer.writeUInt16BE(bytes.readUInt16BE(at) + 5, at);
    expect(readClientHello(longer)).toMatchObject({
      state: 'read',
      hello: { host: 'outer.example' },
    });
  });

  it('never breaks its reader, with any byte changed', async () => {
    const bytes = await helloFor({ servername: 'a.example' });
    for (let at = 0; at < bytes.length; at++)
      for (const value of [0, 1, 0x7f, 0xff]) {
        const changed = Buffer.from(bytes);
        changed[at] = value;
        expect(['more', 'none', 'read']).toContain(readClientHello(changed).state);
      }
  });

  it.each([
    ['HTTP', 'GET / HTTP/1.1\r\n'],
    ['SSH', 'SSH-2.0-x\r\n'],
    ['an alert', '\x15\x03\x01\x00\x02\x02\x28'],
    ['a record of another version', '\x16\x02\x00\x00\x01\x01'],
    ['an empty record', '\x16\x03\x01\x00\x00'],
    ['a record that is too long', '\x16\x03\x01\xff\xff'],
    ['another handshake message', '\x16\x03\x01\x00\x04\x02\x00\x00\x00'],
  ])('is not %s', (_what, text) => {
    expect(readClientHello(Buffer.from(text, 'latin1')).state).toBe('none');
  });
});

describe('a request line', () => {
  it.each([
    ['', 'more'],
    ['GE', 'more'],
    ['GET /', 'more'],
    ['\r\n\r\nGET / HTTP/1.0\r\n', 'read'],
    ['GET / HTTP/1.1\r\nHost:  a.example \r\n', 'read'],
    ['get / HTTP/1.1\r\n', 'none'],
    ['GET / HTTP/2.0\r\n', 'none'],
    ['PRI * HTTP/2.0\r\n', 'none'],
    ['GET /\r\n', 'none'],
    ['SSH-2.0-x\r\n', 'none'],
    [`${'A'.repeat(40)}`, 'none'],
  ])('%j: %s', (text, state) => {
    expect(readRequestLine(Buffer.from(text)).state).toBe(state);
  });
  it('takes no time to speak of, with anything in the place of its host', () => {
    for (const hosts of [' '.repeat(16_000), ' \t'.repeat(8_000), '\r'.repeat(16_000), 'a '.repeat(8_000)])
      for (const end of ['', 'x', '\r\n'])
        expect(readRequestLine(Buffer.from(`GET / HTTP/1.1\r\nhost:${hosts}${end}`)).state).toBe('read');
  });

  it('comes with the host that follows it', () => {
    expect(readRequestLine(Buffer.from('GET / HTTP/1.1\r\nx: y\r\nHOST: a.example \r\n'))).toEqual({
      state: 'read',
      host: 'a.example',
    });
  });
});
