import type { DescField, DescMessage, DescMethod } from '@bufbuild/protobuf';
import { Filesystem, Process } from '@svc/daemon';
import { FLAG_END, frame, splitFrames } from '@svc/support/connect-frames';
import { daemon as document, type Operation } from '../wire/documents.js';
import { type Daemon, daemonSend, HTTP_OF_CODE } from '../wire/rpc.js';
import type { Answer } from '../wire/send.js';
import type { FuzzReport } from './report.js';
import { pick, type Random, sampleOf } from './values.js';

export const methods: DescMethod[] = [...Process.methods, ...Filesystem.methods];
export const nameOf = (method: DescMethod) => `${method.parent.typeName}/${method.name}`;

/** Paths inside the sandbox only: on the process driver an absolute path would be the machine's own. */
const PATHS = [
  '',
  '~',
  'fuzz',
  'fuzz/a',
  'fuzz/b/c',
  './fuzz/d',
  '~/fuzz/e',
  'fuzz/\u0000x',
  'fuzz/ü',
  `fuzz/${'n'.repeat(300)}`,
  '~other',
  'fuzz/../fuzz/f',
];
const COMMANDS = ['/bin/true', '/bin/echo', 'no-such-program', '', '/bin/cat'];
const WORDS = ['', 'a', 'ü', 'x'.repeat(1_000), '\u0000'];

function messageOf(message: DescMessage, random: Random, depth = 0): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const field of message.fields)
    if (random() < (depth === 0 ? 0.85 : 0.6)) made[field.jsonName] = fieldOf(field, random, depth);
  return made;
}

function fieldOf(field: DescField, random: Random, depth: number): unknown {
  if (random() < 0.04) return pick(random, [null, [], {}, 'text', 7, true]);
  switch (field.fieldKind) {
    case 'message':
      return depth > 4 ? {} : messageOf(field.message, random, depth + 1);
    case 'enum':
      return pick(random, ['SIGNAL_SIGTERM', 'SIGNAL_SIGKILL', 0, 9, 15, 99, 'NOTHING']);
    case 'map':
      return { [pick(random, ['A', 'LONG_NAME', ''])]: pick(random, WORDS) };
    case 'list':
      return Array.from({ length: Math.floor(random() * 3) }, () => pick(random, WORDS));
    case 'scalar':
      return scalarOf(field, random);
  }
}

function scalarOf(field: DescField, random: Random): unknown {
  if (['path', 'source', 'destination', 'cwd'].includes(field.name)) return pick(random, PATHS);
  if (field.name === 'cmd') return pick(random, COMMANDS);
  if (['stdin', 'pty', 'stdout'].includes(field.name) && field.parent.name !== 'StartRequest')
    return pick(random, ['', 'aGVsbG8=', '-_-_', '!!!']);
  // Never a pid of the machine: only the daemon's own processes may be meant, and none has this one.
  if (field.name === 'pid') return pick(random, [0, 4_194_300, 4_294_967_295, -1, 1.5]);
  if (['cols', 'rows', 'depth'].includes(field.name)) return pick(random, [0, 1, 3, 80, 70_000, -1]);
  if (field.name === 'stdin' || field.name === 'recursive') return random() < 0.5;
  return pick(random, WORDS);
}

/** Sends one random call of an RPC, its framing broken now and then, and judges the answer. */
export async function fuzzRpc(
  daemon: Daemon,
  method: DescMethod,
  random: Random,
  report: FuzzReport,
): Promise<void> {
  const name = nameOf(method);
  const streaming = method.methodKind !== 'unary';
  const messages = Array.from(
    { length: method.methodKind === 'client_streaming' ? 1 + Math.floor(random() * 3) : 1 },
    () => messageOf(method.input, random),
  );
  const sound = streaming
    ? Buffer.concat(messages.map((one) => frame(JSON.stringify(one))))
    : Buffer.from(JSON.stringify(messages[0]));
  const body = random() < 0.2 ? broken(sound, random) : sound;
  const what = `${name} ${body.toString('latin1').slice(0, 400)}`;
  const began = performance.now();
  try {
    const answer = await daemonSend(daemon, `/${name}`, {
      method: 'POST',
      body,
      timeoutMs: 60_000,
      headers: {
        'Content-Type': streaming ? 'application/connect+json' : 'application/json',
        'Connect-Protocol-Version': '1',
        // Streams of a live program or directory would not end by themselves.
        'Connect-Timeout-Ms': String(200 + Math.floor(random() * 300)),
        ...(random() < 0.05 ? { 'Keepalive-Ping-Interval': pick(random, ['0', '-1', 'x', '1']) } : {}),
      },
    });
    report.count(name, judge(name, answer, streaming, what, report), began);
  } catch (error) {
    report.count(name, 'no answer', began);
    report.fail(`no answer: ${what} -> ${(error as Error).message}`);
  }
}

function judge(name: string, answer: Answer, streaming: boolean, what: string, report: FuzzReport): string {
  if (streaming && answer.status === 200) {
    const last = splitFrames(answer.bytes).at(-1);
    if (last === undefined || last.flags !== FLAG_END) {
      report.fail(`a stream without its end: ${what}`);
      return 'no end';
    }
    return known((last.json() as { error?: { code: string } }).error?.code ?? 'ok', what, report);
  }
  if (answer.status === 200) return 'ok';
  const { code } = answer.json() as { code?: string };
  if (typeof code !== 'string' || HTTP_OF_CODE[code] !== answer.status)
    report.fail(`${name}: ${answer.status} ${answer.text.slice(0, 200)}: ${what}`);
  return known(String(code), what, report);
}

/** `internal` is documented for the file system and for input; `unknown` for terminals. Crashes would show as such. */
function known(code: string, what: string, report: FuzzReport): string {
  if (code === 'data_loss' || (code !== 'ok' && HTTP_OF_CODE[code] === undefined))
    report.fail(`${code}: ${what}`);
  return code;
}

function broken(body: Buffer, random: Random): Buffer {
  const copy = Buffer.from(body);
  switch (Math.floor(random() * 5)) {
    case 0:
      return copy.subarray(0, Math.floor(random() * copy.length));
    case 1:
      return Buffer.concat([copy, Buffer.from([0, 0, 0])]);
    case 2:
      if (copy.length > 0) copy[Math.floor(random() * copy.length)] = Math.floor(random() * 256);
      return copy;
    case 3:
      if (copy.length > 0) copy[0] = 1 + Math.floor(random() * 255);
      return copy;
    default:
      return Buffer.alloc(0);
  }
}

const FILE_VALUES: Record<string, readonly string[]> = {
  path: PATHS,
  username: ['user', 'nobody-of-this-name', ''],
  signature: ['', 'v1_', 'nonsense'],
  signature_expiration: ['0', '-1', 'x', '99999999999'],
};

/** Sends one random request to a plain route of the daemon. */
export async function fuzzRoute(
  daemon: Daemon,
  operation: Operation,
  random: Random,
  report: FuzzReport,
): Promise<void> {
  const name = `daemon ${operation.id}`;
  const query = operation.parameters
    .filter((one) => one.in === 'query' && random() < 0.6)
    .map((one) => `${one.name}=${encodeURIComponent(pick(random, FILE_VALUES[one.name] ?? ['x']))}`)
    .join('&');
  const json = operation.id === 'composeFiles';
  const compose = {
    source_paths: [pick(random, PATHS), pick(random, PATHS)],
    destination: pick(random, PATHS),
  };
  const body =
    operation.method === 'GET'
      ? undefined
      : json
        ? JSON.stringify(
            random() < 0.5
              ? compose
              : sampleOf(document, operation.bodySchema, () => Math.max(random(), 0.07)) && compose,
          )
        : pick(random, [
            '',
            'bytes',
            '--b\r\nbroken',
            `--b\r\nContent-Disposition: form-data; name="file"; filename="fuzz/m"\r\n\r\nx\r\n--b--\r\n`,
          ]);
  const type = json
    ? 'application/json'
    : pick(random, [
        'application/octet-stream',
        'multipart/form-data; boundary=b',
        'multipart/form-data',
        'text/plain',
      ]);
  const what = `${name} ?${query} ${type} ${body?.slice(0, 200) ?? ''}`;
  const began = performance.now();
  try {
    const answer = await daemonSend(daemon, `${operation.path}${query === '' ? '' : `?${query}`}`, {
      method: operation.method,
      timeoutMs: 60_000,
      ...(body === undefined ? {} : { body }),
      headers: {
        'Content-Type': body === undefined ? undefined : type,
        Range: random() < 0.1 ? pick(random, ['bytes=0-', 'bytes=9-1', 'lines=1', 'bytes=-0']) : undefined,
        'Content-Encoding': body !== undefined && random() < 0.1 ? pick(random, ['gzip', 'br']) : undefined,
      },
    });
    report.count(name, answer.status, began);
    if (answer.status >= 500 && answer.status !== 507)
      report.fail(`${answer.status}: ${what} -> ${answer.text.slice(0, 300)}`);
  } catch (error) {
    report.count(name, 'no answer', began);
    report.fail(`no answer: ${what} -> ${(error as Error).message}`);
  }
}
