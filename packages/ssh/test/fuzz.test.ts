import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { NotAllowedError, serveConnection } from '../src/connection/serve-connection.js';
import { makeOffer } from '../src/transport/algorithms.js';
import { generateHostKey, parseHostKey } from '../src/transport/host-key.js';
import { plain } from '../src/transport/packet-cipher.js';
import { Transport } from '../src/transport/transport.js';
import { message } from '../src/wire/message.js';
import { ProtocolError } from '../src/wire/protocol-error.js';
import { boolean, byte, string, uint32 } from '../src/wire/write.js';

const ROUNDS = process.env.SVC_HEAVY === '1' ? 200_000 : 3_000;
const hostKey = parseHostKey(generateHostKey());

/** Numbers below a bound, the same for the same seed. */
function numbers(seed: number): (bound: number) => number {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

/** Changes, cuts, repeats or lengthens bytes in a few places. */
function mutate(bytes: Buffer, below: (bound: number) => number): Buffer {
  let changed = Buffer.from(bytes);
  for (let count = 1 + below(3); count > 0; count -= 1) {
    const at = below(changed.length + 1);
    const kind = below(4);
    if (kind === 0 && at < changed.length) changed[at] = below(256);
    else if (kind === 1) changed = changed.subarray(0, at);
    else if (kind === 2) changed = Buffer.concat([changed.subarray(0, at), changed.subarray(below(at + 1))]);
    else if (at + 4 <= changed.length) changed.writeUInt32BE(2 ** 32 - 1 - below(64), at);
  }
  return changed;
}

/** Returns the error of some work, if any. */
async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error) => error,
  );
}

it(`ends ${ROUNDS} broken greetings with the reason, or with the client`, { timeout: 900_000 }, async () => {
  const packet = (...fields: Buffer[]) => plain.seal(Buffer.concat(fields), 0);
  const whole = Buffer.concat([
    Buffer.from('SSH-2.0-test\r\n'),
    packet(makeOffer()),
    packet(byte(message.ecdhInit), string(Buffer.alloc(32, 9))),
    packet(byte(message.newKeys)),
  ]);
  const seen = { ended: 0, refused: 0 };
  for (let seed = 1; seed <= ROUNDS; seed += 1) {
    const input = new PassThrough();
    input.end(mutate(whole, numbers(seed)));
    const transport = new Transport({
      input,
      output: new PassThrough().resume(),
      hostKey,
      software: 'test',
    });
    const read = async () => {
      for await (const _ of transport.messages());
    };
    const failure = await failureOf(read());
    if (failure === undefined) seen.ended += 1;
    else {
      expect(failure, `seed ${seed}`).toBeInstanceOf(ProtocolError);
      seen.refused += 1;
    }
  }
  expect(Math.min(seen.ended, seen.refused)).toBeGreaterThan(ROUNDS / 100);
});

it(`ends ${ROUNDS} broken connections with the reason, or with the client`, {
  timeout: 900_000,
}, async () => {
  const messages = [
    Buffer.concat([byte(message.serviceRequest), string('ssh-userauth')]),
    Buffer.concat([byte(message.authRequest), string('me'), string('ssh-connection'), string('none')]),
    Buffer.concat([byte(message.channelOpen), string('session'), uint32(5), uint32(1000), uint32(1000)]),
    Buffer.concat([byte(message.channelRequest), uint32(0), string('exec'), boolean(true), string('ls')]),
    Buffer.concat([byte(message.channelData), uint32(0), string(Buffer.alloc(100))]),
    Buffer.concat([byte(message.channelOpen), string('direct-tcpip'), uint32(6), uint32(9), uint32(9)]),
    Buffer.concat([byte(message.channelEof), uint32(0)]),
    Buffer.concat([byte(message.channelClose), uint32(0)]),
  ];
  const seen = { ended: 0, refused: 0 };
  for (let seed = 1; seed <= ROUNDS; seed += 1) {
    const below = numbers(seed);
    const broken = below(messages.length);
    const stream = {
      async *messages() {
        for (const [at, each] of messages.entries()) yield at === broken ? mutate(each, below) : each;
      },
      send: () => undefined,
      writable: async () => undefined,
      unimplemented: () => undefined,
    };
    const failure = await failureOf(
      serveConnection(stream, {
        authenticate: async (user) => (user === 'me' ? { ok: true } : { ok: false, why: 'unknown' }),
        openSession: () => () => true,
        openForward: async () => {
          throw new Error('nobody listens');
        },
        refused: () => undefined,
      }),
    );
    if (failure === undefined) seen.ended += 1;
    else {
      expect([ProtocolError, NotAllowedError], `seed ${seed}: ${failure}`).toContain(
        (failure as Error).constructor,
      );
      seen.refused += 1;
    }
  }
  expect(Math.min(seen.ended, seen.refused)).toBeGreaterThan(ROUNDS / 100);
});
