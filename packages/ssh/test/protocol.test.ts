import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Channel, windowBytes } from '../src/connection/channel.js';
import { serveConnection } from '../src/connection/serve-connection.js';
import { agree, makeOffer } from '../src/transport/algorithms.js';
import { generateHostKey, parseHostKey } from '../src/transport/host-key.js';
import { createPacketCipher, plain } from '../src/transport/packet-cipher.js';
import { Transport } from '../src/transport/transport.js';
import { message } from '../src/wire/message.js';
import { boolean, byte, nameList, positiveInteger, string, uint32 } from '../src/wire/write.js';

const hostKey = parseHostKey(generateHostKey());
const version = Buffer.from('SSH-2.0-test\r\n');

/** Returns the reaction of a transport to bytes that a client sends before any key exchange. */
async function fate(...sent: Buffer[]): Promise<string> {
  const input = new PassThrough();
  const output = new PassThrough().resume();
  for (const bytes of sent) input.write(bytes);
  input.end();
  const transport = new Transport({ input, output, hostKey, software: 'test' });
  try {
    for await (const payload of transport.messages()) return `message ${payload[0]}`;
    return 'ended';
  } catch (error) {
    return (error as Error).message;
  }
}

const packet = (...fields: Buffer[]) => plain.seal(Buffer.concat(fields), 0);

describe('a client that breaks the protocol gets the reason, in one line', () => {
  it.each<[string, Buffer[], RegExp]>([
    ['text of another protocol', [Buffer.from('GET / HTTP/1.1\r\n')], /does not speak SSH 2.0/],
    ['an endless first line', [Buffer.alloc(5000, 0x41)], /does not speak SSH/],
    ['an old version', [Buffer.from('SSH-1.5-old\n')], /does not speak SSH 2.0/],
    ['a packet without length', [version, Buffer.alloc(16)], /impossible length/],
    ['a packet of gigabytes', [version, Buffer.alloc(16, 0x7f)], /impossible length/],
    [
      'a message before the key exchange',
      [version, packet(byte(message.serviceRequest), string('ssh-userauth'))],
      /not allowed/,
    ],
    [
      'a key share before the offers',
      [version, packet(byte(message.ecdhInit), string(Buffer.alloc(32)))],
      /out of turn/,
    ],
    ['new keys before the exchange', [version, packet(byte(message.newKeys))], /out of turn/],
    [
      'an offer that ends early',
      [version, packet(byte(message.keyExchangeInit), Buffer.alloc(16), uint32(1000))],
      /shorter than it says/,
    ],
    ['two offers', [version, packet(makeOffer()), packet(makeOffer())], /second key exchange/],
    [
      'a key share of a wrong length',
      [version, packet(makeOffer()), packet(byte(message.ecdhInit), string('short'))],
      /wrong length/,
    ],
    [
      'a key share that is no point',
      [version, packet(makeOffer()), packet(byte(message.ecdhInit), string(Buffer.alloc(32)))],
      /no point/,
    ],
    ['nothing', [], /^ended$/],
    ['half a packet', [version, packet(makeOffer()).subarray(0, 20)], /^ended$/],
  ])('%s', async (_, sent, expected) => expect(await fate(...sent)).toMatch(expected));

  it('names what a client would have to allow when nothing is common', () => {
    const offer = Buffer.concat([
      byte(message.keyExchangeInit),
      Buffer.alloc(16),
      nameList(['diffie-hellman-group1-sha1']),
      ...Array.from({ length: 9 }, () => nameList([])),
      boolean(false),
      uint32(0),
    ]);
    expect(() => agree(offer)).toThrow(/no common key exchange: allow curve25519-sha256/);
  });

  it.each(['aes256-gcm@openssh.com', 'aes128-gcm@openssh.com', 'aes256-ctr', 'aes128-ctr'] as const)(
    'a packet that was changed on its way, with %s',
    (name) => {
      const of = (bytes: number) => Buffer.alloc(bytes, 7);
      const keys = { iv: of, key: of, mac: of };
      const [sender, reader, other] = [1, 2, 3].map(() => createPacketCipher(name, keys));
      for (let n = 1; n < 300; n += 1) {
        const sealed = sender!.seal(Buffer.alloc(n, n), n);
        expect(reader!.lengthOf(sealed.subarray(0, 4))).toBe(sealed.length);
        expect(reader!.open(sealed, n)).toEqual(Buffer.alloc(n, n));
      }
      const sealed = sender!.seal(Buffer.from('text'), 300);
      sealed[9]! ^= 1;
      expect(() => other!.open(sealed, 300)).toThrow(/changed on its way/);
    },
  );
});

/** Serves messages as if they came through a transport; gives what is answered, and how it ended. */
async function serve(...messages: Buffer[]) {
  const sent: Buffer[] = [];
  const refused: string[] = [];
  const stream = {
    async *messages() {
      yield* messages;
    },
    send: (...parts: Buffer[]) => void sent.push(Buffer.concat(parts)),
    writable: async () => undefined,
    unimplemented: () => void sent.push(byte(message.unimplemented)),
  };
  const ended = await serveConnection(stream, {
    authenticate: async (user) => (user === 'me' ? { ok: true } : { ok: false, why: `not ${user}` }),
    openSession: () => () => false,
    openForward: async () => {
      throw new Error('nobody listens');
    },
    refused: (what) => void refused.push(what),
  }).then(
    () => 'ended',
    (error: Error) => error.message,
  );
  return { kinds: sent.map((bytes) => bytes[0]), ended, refused };
}

const enter = [
  Buffer.concat([byte(message.serviceRequest), string('ssh-userauth')]),
  Buffer.concat([byte(message.authRequest), string('me'), string('ssh-connection'), string('none')]),
];
const open = (type = 'session') =>
  Buffer.concat([byte(message.channelOpen), string(type), uint32(5), uint32(1000), uint32(1000)]);
const data = (channel: number, bytes: number) =>
  Buffer.concat([byte(message.channelData), uint32(channel), string(Buffer.alloc(bytes))]);

describe('a connection', () => {
  it.each<[string, Buffer[], RegExp]>([
    ['a channel before it was let in', [open()], /before the client was let in/],
    [
      'another service',
      [Buffer.concat([byte(message.serviceRequest), string('ssh-connection')])],
      /only the service/,
    ],
    ['data for no channel', [...enter, data(0, 1)], /not open/],
    ['more data than the window', [...enter, open(), data(0, windowBytes), data(0, 1)], /more data came/],
    [
      'a window beyond any number',
      [...enter, open(), Buffer.concat([byte(message.channelWindowAdjust), uint32(0), uint32(0xffff_ffff)])],
      /too large/,
    ],
    ['an open request without its fields', [...enter, byte(message.channelOpen)], /shorter than it says/],
    [
      'an unknown user',
      [enter[0]!, Buffer.concat([byte(50), string('you'), string('ssh-connection'), string('none')])],
      /^not you$/,
    ],
  ])('ends with the reason for %s', async (_, messages, expected) =>
    expect((await serve(...messages)).ended).toMatch(expected),
  );

  it('refuses what is not there and continues', async () => {
    const forward = Buffer.concat([
      byte(message.globalRequest),
      string('tcpip-forward'),
      boolean(true),
      string(''),
      uint32(0),
    ]);
    const { kinds, ended, refused } = await serve(...enter, open('x11'), forward, byte(200), open());
    expect(ended).toBe('ended');
    expect(kinds).toEqual([
      message.serviceAccept,
      52,
      message.channelOpenFailure,
      message.requestFailure,
      message.unimplemented,
      message.channelOpenConfirmation,
    ]);
    expect(refused).toEqual(['remote forwarding (-R)']);
  });

  it('opens no more channels than it can keep', async () => {
    const { kinds } = await serve(...enter, ...Array.from({ length: 1005 }, () => open()));
    expect(kinds.filter((kind) => kind === message.channelOpenConfirmation)).toHaveLength(1000);
    expect(kinds.filter((kind) => kind === message.channelOpenFailure)).toHaveLength(5);
  });
});

describe('a channel', () => {
  it('writes no more than the peer takes, both streams in their order, and gives up when it leaves', async () => {
    const sent: Buffer[] = [];
    const link = {
      send: (...parts: Buffer[]) => void sent.push(Buffer.concat(parts)),
      writable: async () => undefined,
    };
    const channel = new Channel(link, { theirs: 1, window: 10, maxPacket: 4 });
    const first = channel.write(Buffer.from('0123456789ab'));
    const second = channel.write(Buffer.from('oops'), 'stderr');
    await once(AbortSignal.timeout(1), 'abort');
    expect(sent.map((bytes) => bytes.subarray(9).toString())).toEqual(['0123', '4567', '89']);
    channel.receiveWindow(4);
    await first;
    await once(AbortSignal.timeout(1), 'abort');
    expect(
      sent.slice(3).map((bytes) => [bytes[0], bytes.subarray(bytes[0] === 95 ? 13 : 9).toString()]),
    ).toEqual([
      [message.channelData, 'ab'],
      [message.channelExtendedData, 'oo'],
    ]);
    channel.abandon();
    await second;
    expect(sent).toHaveLength(5);
  });

  it('asks for more only once what came was read', async () => {
    const sent: Buffer[] = [];
    const link = {
      send: (...parts: Buffer[]) => void sent.push(Buffer.concat(parts)),
      writable: async () => undefined,
    };
    const channel = new Channel(link, { theirs: 1, window: 0, maxPacket: 1 });
    for (let n = 0; n < 8; n += 1) channel.receiveData(Buffer.alloc(windowBytes / 8));
    channel.receiveEof();
    expect(sent).toEqual([]);
    let length = 0;
    for await (const bytes of channel.input()) length += bytes.length;
    expect(length).toBe(windowBytes);
    expect(sent.map((bytes) => bytes[0])).toEqual([message.channelWindowAdjust, message.channelWindowAdjust]);
  });
});

it('writes numbers without a sign', () => {
  expect(positiveInteger(Buffer.of(0, 0, 0x80))).toEqual(Buffer.of(0, 0, 0, 2, 0, 0x80));
  expect(positiveInteger(Buffer.of(0, 1))).toEqual(Buffer.of(0, 0, 0, 1, 1));
});
