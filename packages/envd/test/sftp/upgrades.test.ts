import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon, type TestDaemon } from '../test-daemon.js';
import { packet, string, uint32, uint64 } from './packet.js';

let daemon: TestDaemon;
let home: string;
beforeAll(async () => {
  daemon = await startDaemon();
  home = daemon.home;
  const body = JSON.stringify({ accessToken: 'secret' });
  await fetch(`${daemon.url}/init`, { method: 'POST', body });
});
afterAll(() => daemon?.stop());

/** Asks for a stream: it, or status and text of the refusal. */
function upgrade(path: string, protocol: string, headers: Record<string, string> = {}) {
  const { port } = daemon;
  const request = http.request({
    host: '127.0.0.1',
    port,
    path,
    agent: false,
    headers: { 'X-Access-Token': 'secret', ...headers, Connection: 'Upgrade', Upgrade: protocol },
  });
  request.end();
  return new Promise<Socket | { status: number | undefined; text: string }>((resolve, reject) => {
    request.once('upgrade', (_, socket) => resolve(socket as Socket));
    request.once('response', async (answer) => {
      let text = '';
      for await (const chunk of answer) text += chunk;
      resolve({ status: answer.statusCode, text });
    });
    request.once('error', reject);
  });
}

/** A session that sends messages and reads the answers in their order. */
async function sftp() {
  const socket = (await upgrade('/sftp', 'sftp')) as Socket;
  let bytes = Buffer.alloc(0);
  const chunks = socket[Symbol.asyncIterator]();
  const next = async (): Promise<{ type: number; body: Buffer }> => {
    while (bytes.length < 4 || bytes.length < 4 + bytes.readUInt32BE(0)) {
      const chunk = await chunks.next();
      if (chunk.done) throw new Error('the session has ended');
      bytes = Buffer.concat([bytes, chunk.value as Buffer]);
    }
    const end = 4 + bytes.readUInt32BE(0);
    const answer = { type: bytes[4]!, body: Buffer.from(bytes.subarray(5, end)) };
    bytes = bytes.subarray(end);
    return answer;
  };
  const ask = (type: number, ...fields: Buffer[]) => {
    socket.write(packet(type, ...fields));
    return next();
  };
  await ask(1, uint32(3));
  return { socket, ask, next };
}

const status = ({ type, body }: { type: number; body: Buffer }) => [type, body.readUInt32BE(4)];
const noAttributes = uint32(0);

describe('streams', () => {
  it('are refused without the token, to other routes, and to what cannot be reached', async () => {
    expect(await upgrade('/sftp', 'sftp', { 'X-Access-Token': 'wrong' })).toMatchObject({ status: 401 });
    expect(await upgrade('/files', 'tcp')).toMatchObject({
      status: 404,
      text: expect.stringMatching(/no route/),
    });
    for (const query of [
      '',
      '?host=127.0.0.1&port=0',
      '?host=127.0.0.1&port=70000',
      '?socket=relative',
      '?host=&port=1',
    ])
      expect(await upgrade(`/tunnel${query}`, 'tcp')).toMatchObject({ status: 400 });
    expect(await upgrade('/tunnel?host=127.0.0.1&port=1', 'tcp')).toMatchObject({
      status: 404,
      text: expect.stringMatching(/ECONNREFUSED/),
    });
    expect(await upgrade('/tunnel?socket=/no/such.sock', 'tcp')).toMatchObject({ status: 404 });
    expect(await upgrade('/sftp', 'sftp', { Authorization: `Basic ${btoa('nobody-here:')}` })).toMatchObject({
      status: 401,
    });
  });

  it('lead to a port, and tell the end of one direction from that of the other', async () => {
    const answering = createServer({ allowHalfOpen: true }, async (socket) => {
      let text = '';
      for await (const chunk of socket.iterator({ destroyOnReturn: false })) text += chunk;
      socket.end(`got ${text}`);
    }).listen(0, '127.0.0.1');
    await once(answering, 'listening');
    const { port } = answering.address() as AddressInfo;
    const socket = (await upgrade(`/tunnel?host=localhost&port=${port}`, 'tcp')) as Socket;
    socket.end('all of it');
    let text = '';
    for await (const chunk of socket) text += chunk;
    expect(text).toBe('got all of it');
    answering.close();
  });
});

describe('SFTP', () => {
  it('reads and writes at any place, and appends', async () => {
    const { socket, ask } = await sftp();
    // CREATE | READ | WRITE
    const opened = await ask(3, uint32(1), string('file'), uint32(11), noAttributes);
    const handle = string(opened.body.subarray(8));
    expect(status(await ask(6, uint32(2), handle, uint64(6), string('world')))).toEqual([101, 0]);
    expect(status(await ask(6, uint32(3), handle, uint64(0), string('hello ')))).toEqual([101, 0]);
    const read = await ask(5, uint32(4), handle, uint64(3), uint32(5));
    expect(read.body.subarray(8).toString()).toBe('lo wo');
    expect(status(await ask(5, uint32(5), handle, uint64(11), uint32(5)))).toEqual([101, 1]);
    expect(status(await ask(4, uint32(6), handle))).toEqual([101, 0]);
    const more = await ask(3, uint32(7), string('file'), uint32(6), noAttributes);
    await ask(6, uint32(8), string(more.body.subarray(8)), uint64(0), string('!'));
    expect(await readFile(join(home, 'file'), 'utf8')).toBe('hello world!');
    socket.destroy();
  });

  it('answers a failure for what does not go, and goes on', async () => {
    const { socket, ask } = await sftp();
    await writeFile(join(home, 'there'), 'kept');
    execFileSync('mkfifo', [join(home, 'fifo')]);
    const failures: [Buffer[], number, number][] = [
      [[string('missing')], 7, 2],
      [[string('nul\0byte')], 7, 4],
      [[string('fifo'), uint32(1), noAttributes], 3, 4],
      [[string('fifo'), uint32(2), noAttributes], 3, 4],
      [[string('there'), uint32(2 | 8 | 32), noAttributes], 3, 4],
      [[string('there'), noAttributes], 14, 4],
      [[string('fifo'), string('there')], 18, 4],
      [[string('0'), uint64(0), uint32(1)], 5, 4],
      // A position beyond any file.
      [[string('there'), uint32(1), Buffer.alloc(8, 255)], 9, 4],
      [[string('__proto__')], 200, 8],
      [[], 99, 8],
    ];
    for (const [fields, type, code] of failures)
      expect(status(await ask(type, uint32(1), ...fields)), `request ${type}`).toEqual([101, code]);
    expect(await readFile(join(home, 'there'), 'utf8')).toBe('kept');
    socket.destroy();
  });

  it('keeps names that are no text', async () => {
    const { socket, ask } = await sftp();
    const name = Buffer.of(0x66, 0xff, 0xfe, 0x0a);
    await ask(14, uint32(1), string('bytes'), noAttributes);
    await ask(3, uint32(2), string(Buffer.concat([Buffer.from('bytes/'), name])), uint32(10), noAttributes);
    const listing = await ask(11, uint32(3), string('bytes'));
    const found = await ask(12, uint32(4), string(listing.body.subarray(8)));
    const names: Buffer[] = [];
    expect(found.type).toBe(104);
    for (let at = 8, left = found.body.readUInt32BE(4); left > 0; left -= 1) {
      const read = () => {
        const length = found.body.readUInt32BE(at);
        at += 4 + length;
        return found.body.subarray(at - length, at);
      };
      names.push(read());
      read();
      at += 32;
    }
    expect(names).toContainEqual(name);
    socket.destroy();
  });

  it.each([
    ['an empty message', Buffer.alloc(4)],
    ['a message that is too long', Buffer.from('7fffffff', 'hex')],
    ['a string that is longer than its message', packet(7, uint32(1), uint32(0xffff_ffff))],
    ['text of another protocol', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  ])('ends a session that sends %s', async (_, bytes) => {
    const { socket } = await sftp();
    socket.on('error', () => undefined);
    const closed = once(socket, 'close');
    socket.resume().write(bytes);
    await closed;
  });

  it('opens a limited number of files, and closes them with the session', async () => {
    const { socket, next } = await sftp();
    await writeFile(join(home, 'many'), '');
    const open = (n: number) => packet(3, uint32(n), string('many'), uint32(1), noAttributes);
    socket.write(Buffer.concat(Array.from({ length: 520 }, (_, n) => open(n))));
    const answers: number[] = [];
    while (answers.length < 520) answers.push((await next()).type);
    expect(answers.filter((type) => type === 102)).toHaveLength(512);
    socket.destroy();
  });
});
