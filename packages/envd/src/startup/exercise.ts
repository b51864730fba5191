import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callInProcess, type InProcessCall, streamingCall, TOKEN, unaryCall } from './call-in-process.js';
import { createWarmUp } from './warm-up.js';

export interface Rehearsed {
  /** As of `createWarmUp`. */
  needed: readonly (() => void | Promise<void>)[];
  makeHandler(): RequestListener;
}

/**
 * Does what the daemon is there for in a directory of its own, so that V8 has compiled it.
 *
 * @throws Error when a call fails: a cache without what that call needs would be slow in silence.
 */
export async function exercise(open: (home: string) => Rehearsed): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'envd-exercise-'));
  try {
    const { needed, makeHandler } = open(home);
    await createWarmUp({ needed, makeHandler, wanted: () => false }).begin();
    const server = createServer(makeHandler());
    const send = async (call: InProcessCall): Promise<Buffer> => {
      const answer = await callInProcess(server, call);
      const [head = ''] = answer.toString('latin1').split('\r\n', 1);
      if (!/ 20\d /.test(head)) throw new Error(`${call.method} ${call.path}: ${answer.toString('utf8')}`);
      return answer;
    };
    for (const call of PLAIN) await send(call);
    let ended = false;
    const running = send(CAT).finally(() => {
      ended = true;
    });
    while (!ended && !(await send(LIST)).includes(TAG)) await new Promise(setImmediate);
    for (const call of ON_CAT) await send(call);
    await running;
    for (const call of FILES) await send(call);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const withToken = { 'X-Access-Token': TOKEN };
const shell = (script: string) => ({ process: { cmd: '/bin/sh', args: ['-c', script] }, stdin: false });

const PLAIN: readonly InProcessCall[] = [
  { method: 'GET', path: '/health' },
  {
    method: 'POST',
    path: '/init',
    body: Buffer.from(JSON.stringify({ accessToken: TOKEN, envVars: { A: 'b' }, defaultUser: 'user' })),
  },
  streamingCall('process.Process/Start', [shell('echo out; echo err >&2; exit 3')]),
  // The third in a row finds a shell that was started ahead.
  streamingCall('process.Process/Start', [shell('true')]),
  streamingCall('process.Process/Start', [shell('true')]),
  { method: 'GET', path: '/logs', headers: withToken },
  { method: 'GET', path: '/metrics', headers: withToken },
];

const TAG = 'exercise';
const CAT = streamingCall('process.Process/Start', [{ process: { cmd: 'cat' }, tag: TAG, stdin: true }]);
const LIST = unaryCall('process.Process/List', {});
const ON_CAT: readonly InProcessCall[] = [
  unaryCall('process.Process/SendInput', { process: { tag: TAG }, input: { stdin: 'YQ==' } }),
  unaryCall('process.Process/CloseStdin', { process: { tag: TAG } }),
];

const FILES: readonly InProcessCall[] = [
  {
    method: 'POST',
    path: '/files?path=a/b.txt',
    headers: { ...withToken, 'Content-Type': 'application/octet-stream' },
    body: Buffer.from('text'),
  },
  { method: 'GET', path: '/files?path=a/b.txt', headers: withToken },
  unaryCall('filesystem.Filesystem/Stat', { path: 'a/b.txt' }),
  unaryCall('filesystem.Filesystem/ListDir', { path: 'a' }),
  unaryCall('filesystem.Filesystem/MakeDir', { path: 'c' }),
  unaryCall('filesystem.Filesystem/Move', { source: 'a/b.txt', destination: 'c/d.txt' }),
  unaryCall('filesystem.Filesystem/Remove', { path: 'c' }),
];
