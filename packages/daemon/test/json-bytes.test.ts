import { create, type DescMessage, fromJsonString, toJsonString } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
// @ts-expect-error: a script of the build, without types
import { withFastBytes } from '../../../scripts/json-bytes.js';
import { ConnectResponseSchema, StartResponseSchema, StreamInputRequestSchema } from '../src/gen.js';

interface Serialization {
  serialize(message: unknown): Uint8Array;
  parse(data: Uint8Array): unknown;
}

const encoder = new TextEncoder();

/** The library's way, which notes what was left to it. */
function general(desc: DescMessage) {
  const left: string[] = [];
  const serialization = {
    serialize(message: never) {
      left.push('serialize');
      return encoder.encode(toJsonString(desc, message));
    },
    parse(data: Uint8Array) {
      left.push('parse');
      return fromJsonString(desc, new TextDecoder().decode(data), { ignoreUnknownFields: true });
    },
  };
  return { left, plain: serialization, fast: withFastBytes(desc, serialization) as Serialization };
}

const bytes = (size: number) => Uint8Array.from({ length: size }, (_, index) => (index * 7) % 256);

const outputs = [StartResponseSchema, ConnectResponseSchema].flatMap((desc) =>
  ['stdout', 'stderr', 'pty'].map((kind) => ({
    desc,
    name: `${desc.typeName} ${kind}`,
    message: (value: Uint8Array) =>
      create(desc, {
        event: { event: { case: 'data', value: { output: { case: kind, value } } } },
      } as never),
  })),
);
const inputs = ['stdin', 'pty'].map((kind) => ({
  desc: StreamInputRequestSchema,
  name: `StreamInputRequest ${kind}`,
  message: (value: Uint8Array) =>
    create(StreamInputRequestSchema, {
      event: { case: 'data', value: { input: { input: { case: kind, value } } } },
    } as never),
}));

it.each([...outputs, ...inputs])('writes and reads $name as the library does', ({ desc, message }) => {
  const { left, plain, fast } = general(desc as DescMessage);
  for (const size of [1, 2, 3, 100, 32 * 1024]) {
    const original = message(bytes(size));
    const written = fast.serialize(original);
    expect(new TextDecoder().decode(written)).toBe(toJsonString(desc as DescMessage, original as never));
    expect(left).toEqual([]);
    const read = fast.parse(written);
    expect(left).toEqual([]);
    expect(read).toEqual(plain.parse(written));
    left.length = 0;
  }
});

it('reads a piece that is not alone in its memory', () => {
  const { fast } = general(StartResponseSchema);
  const json = encoder.encode('xx{"event":{"data":{"stdout":"aGFsbG8="}}}xx').subarray(2, -2);
  expect(fast.parse(json)).toMatchObject({
    event: { event: { value: { output: { case: 'stdout', value: new Uint8Array(Buffer.from('hallo')) } } } },
  });
});

it.each([
  '{"event":{"start":{"pid":7}}}',
  '{"event":{"end":{"exitCode":3,"exited":true,"status":"exit status 3"}}}',
  '{"event":{"data":{"stdout":""}}}',
  '{"event":{"data":{"stdout":"aGFsbG8"}}}',
  '{"event": {"data":{"stdout":"aGFsbG8="}}}',
  '{"event":{"data":{"stdout":"aGFs\\u0062G8="}}}',
  '{"event":{"data":{"stdout":"aGFs","a":"bG8="}}}',
])('leaves %s to the library', (json) => {
  const { left, fast } = general(StartResponseSchema);
  const read = fast.parse(encoder.encode(json));
  expect(left).toEqual(['parse']);
  expect(read).toEqual(fromJsonString(StartResponseSchema, json, { ignoreUnknownFields: true }));
});

it('leaves what is wrong to the library, which says so', () => {
  const { fast } = general(StartResponseSchema);
  for (const wrong of ['{"event":{"data":{"stdout":"a*Fs"}}}', '{"event":{"data":{"stdout":"aG=s"}}}']) {
    expect(() => fast.parse(encoder.encode(wrong)), wrong).toThrow();
  }
});

it('leaves other messages alone', () => {
  const { left, fast } = general(StartResponseSchema);
  fast.serialize(create(StartResponseSchema, { event: { event: { case: 'start', value: { pid: 7 } } } }));
  fast.serialize(create(StartResponseSchema, {}));
  expect(left).toEqual(['serialize', 'serialize']);
});
