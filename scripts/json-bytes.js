// What `fast-json.mjs` puts around the RPC library's JSON work: messages that carry one piece of a program's input or
// output skip the general way (object, text, scan for keys named twice, parsing) in both directions. Whatever does not
// look exactly as expected is left to the library.
import { create } from '@bufbuild/protobuf';

const { Buffer } = globalThis;

const output = (kind) => ({
  kind,
  start: `{"event":{"data":{"${kind}":"`,
  make: (value) => ({ event: { event: { case: 'data', value: { output: { case: kind, value } } } } }),
});
const OUTPUT = {
  forms: ['stdout', 'stderr', 'pty'].map(output),
  pick: ({ event }) => (event?.event.case === 'data' ? event.event.value.output : undefined),
};

const input = (kind) => ({
  kind,
  start: `{"data":{"input":{"${kind}":"`,
  make: (value) => ({ event: { case: 'data', value: { input: { input: { case: kind, value } } } } }),
});
const INPUT = {
  forms: ['stdin', 'pty'].map(input),
  pick: ({ event }) => (event.case === 'data' ? event.value.input?.input : undefined),
};

const END = '"}}}';

const MESSAGES = {
  'process.StartResponse': OUTPUT,
  'process.ConnectResponse': OUTPUT,
  'process.StreamInputRequest': INPUT,
};

/** Wraps the library's serialization of one kind of message. */
export function withFastBytes(desc, general) {
  const known = Buffer && MESSAGES[desc.typeName];
  if (!known) return general;
  return {
    serialize: (message) => write(known, message) ?? general.serialize(message),
    parse: (data) => read(desc, known, data) ?? general.parse(data),
  };
}

function write({ forms, pick }, message) {
  const piece = pick(message);
  const start = piece?.value?.length > 0 && forms.find(({ kind }) => kind === piece.case)?.start;
  if (!start) return undefined;
  const { buffer, byteOffset, byteLength } = piece.value;
  const text = Buffer.from(buffer, byteOffset, byteLength).base64Slice();
  const to = start.length + text.length;
  const bytes = Buffer.allocUnsafeSlow(to + END.length);
  bytes.latin1Write(start, 0);
  bytes.latin1Write(text, start.length);
  bytes.latin1Write(END, to);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

function read(desc, { forms }, data) {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const head = bytes.latin1Slice(0, Math.min(40, bytes.length));
  const form = forms.find(({ start }) => head.startsWith(start));
  if (!form) return undefined;
  const { start } = form;
  const to = bytes.length - END.length;
  const size = to - start.length;
  if (size < 4 || size % 4 !== 0 || bytes.latin1Slice(to, bytes.length) !== END) return undefined;
  const padding = bytes[to - 1] !== 61 ? 0 : bytes[to - 2] !== 61 ? 1 : 2;
  const expected = (size / 4) * 3 - padding;
  const value = Buffer.allocUnsafeSlow(expected);
  // Whatever is no base64 is skipped, so that something lacks: a quotation mark, an escape, padding in the middle.
  if (value.base64Write(bytes.latin1Slice(start.length, to), 0) !== expected) return undefined;
  return create(desc, form.make(new Uint8Array(value.buffer, value.byteOffset, expected)));
}
