import { createHook } from 'node:async_hooks';
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '#support/eventually';
import { findInHosts, lookupHost, namesToAsk, resolveHost } from '../../src/network/outbound/resolve-host.js';
import { createPoster } from '../../src/webhooks/delivery/post.js';

const A = 1;
const NOBODY = 3;
const FAILED = 2;

/** The answer of a name server about a name: addresses, a code of failure, or nothing at all. */
type Zone = Record<string, string[] | number | 'silent'>;

/** A name server on the loopback. A name that it does not know is nobody's. */
async function nameServer(zone: Zone): Promise<{ servers: string[]; asked: string[] }> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  const asked: string[] = [];
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query);
    if (!asked.includes(name)) asked.push(name);
    const said = zone[name] ?? NOBODY;
    if (said !== 'silent') socket.send(replyTo(query.subarray(0, end), type, said), port, address);
  });
  return { servers: [`127.0.0.1:${socket.address().port}`], asked };
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function replyTo(question: Buffer, type: number, said: string[] | number): Buffer {
  const addresses = typeof said === 'number' ? [] : said.filter((each) => isIPv6(each) === (type !== A));
  const reply = Buffer.from(question);
  reply.writeUInt16BE(0x8180 | (typeof said === 'number' ? said : 0), 2);
  for (const [at, count] of [1, addresses.length, 0, 0].entries()) reply.writeUInt16BE(count, 4 + 2 * at);
  const records = addresses.map((address) => {
    const bytes = bytesOf(address);
    const record = Buffer.alloc(12);
    // The name of the question.
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt16BE(bytes.length, 10);
    return Buffer.concat([record, bytes]);
  });
  return Buffer.concat([reply, ...records]);
}

/** Of IPv6 only what has all its groups. */
function bytesOf(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number));
  return Buffer.from(
    address
      .split(':')
      .map((group) => group.padStart(4, '0'))
      .join(''),
    'hex',
  );
}

let files: { hostsFile: string; resolvConf: string };
beforeAll(async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'svc-names-'));
  files = { hostsFile: path.join(directory, 'hosts'), resolvConf: path.join(directory, 'resolv.conf') };
  await writeFile(files.hostsFile, '192.0.2.1 Printer.test printer # on the desk\n2001:db8::1 printer\n');
  await writeFile(files.resolvConf, 'nameserver 192.0.2.53\nsearch corp.test\n');
  return () => rm(directory, { recursive: true, force: true });
});

describe('names that tenants give', () => {
  it('have the addresses of the name server, of IPv4 first', async () => {
    const { servers } = await nameServer({
      'both.test': ['2001:db8:0:0:0:0:0:1', '192.0.2.7', '192.0.2.8'],
      'six.test': ['2001:db8:0:0:0:0:0:2'],
    });
    const options = { ...files, servers };
    const four = { address: '192.0.2.7', family: 4 };
    const six = { address: '2001:db8::1', family: 6 };
    expect(await resolveHost('both.test', options)).toEqual([four, { ...four, address: '192.0.2.8' }, six]);
    expect(await resolveHost('both.test', { ...options, family: 6 })).toEqual([six]);
    expect(await resolveHost('six.test', options)).toEqual([{ address: '2001:db8::2', family: 6 }]);
    await expect(resolveHost('six.test', { ...options, family: 4 })).rejects.toMatchObject({
      code: 'ENOTFOUND',
    });
  });

  it('are looked up in the hosts file first, and addresses nowhere', async () => {
    const { servers, asked } = await nameServer({ printer: ['198.51.100.1'] });
    const options = { ...files, servers };
    expect(await resolveHost('PRINTER', options)).toEqual([
      { address: '192.0.2.1', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ]);
    expect(await resolveHost('printer.test.', options)).toEqual([{ address: '192.0.2.1', family: 4 }]);
    expect((await resolveHost('localhost', options))[0]).toEqual({ address: '127.0.0.1', family: 4 });
    expect(await resolveHost('192.0.2.9', options)).toEqual([{ address: '192.0.2.9', family: 4 }]);
    expect(asked).toEqual([]);
  });

  it('without a dot may stand for one of the domain of this machine', async () => {
    const { servers, asked } = await nameServer({ 'hook.corp.test': ['192.0.2.4'] });
    expect(await resolveHost('hook', { ...files, servers })).toEqual([{ address: '192.0.2.4', family: 4 }]);
    expect(asked).toEqual(['hook.corp.test']);
  });

  it('that do not exist are distinguished from those of which nothing is known', async () => {
    const { servers } = await nameServer({ 'broken.test': FAILED, 'empty.test': [] });
    const options = { ...files, servers };
    await expect(resolveHost('nobody.test', options)).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(resolveHost('empty.test', options)).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(resolveHost('broken.test', options)).rejects.toMatchObject({ code: 'EAI_AGAIN' });
    await expect(resolveHost('a'.repeat(300), options)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('of silent name servers hold up no other look-up of this process, and end with their time or their caller', async () => {
    const { servers, asked } = await nameServer({ 'silent.test': 'silent', 'fine.test': ['192.0.2.5'] });
    const options = { ...files, servers };
    const controller = new AbortController();
    const waiting = Array.from({ length: 20 }, () =>
      resolveHost('silent.test', { ...options, signal: controller.signal, timeoutMs: 600_000 }),
    );
    const outcomes = Promise.allSettled(waiting);
    await eventually('the name server to be asked', () => asked.includes('silent.test') || undefined);
    // No thread of the process waits for them.
    expect(process.getActiveResourcesInfo()).not.toContain('GetAddrInfoReqWrap');
    expect(await resolveHost('fine.test', options)).toEqual([{ address: '192.0.2.5', family: 4 }]);
    expect((await lookup('localhost')).address).toMatch(/^(127\.|::1)/);
    const reason = new Error('the server stops');
    controller.abort(reason);
    for (const outcome of await outcomes) expect(outcome).toEqual({ status: 'rejected', reason });
    await expect(resolveHost('silent.test', { ...options, timeoutMs: 50 })).rejects.toMatchObject({
      code: 'EAI_AGAIN',
    });
  });

  it.each([true, false])(
    'are looked up so for webhooks (to private addresses too: %s)',
    async (allowPrivateAddresses) => {
      const types = new Set<string>();
      const hook = createHook({ init: (_, type) => void types.add(type) }).enable();
      const poster = createPoster({ allowPrivateAddresses, timeoutMs: 600_000 });
      const controller = new AbortController();
      try {
        const posted = poster.post('http://hook.invalid/', {}, '', {
          signal: controller.signal,
          mayStart: () => true,
        });
        await eventually('a name server to be asked', () => types.has('QUERYWRAP') || undefined);
        controller.abort();
        expect(await posted).toMatchObject({ ok: false });
        expect(types).not.toContain('GETADDRINFOREQWRAP');
      } finally {
        hook.disable();
        await poster.close();
      }
    },
  );

  it('are given to what connects as it asks for them', async () => {
    const ask = (options: object) =>
      new Promise((resolve) => lookupHost('127.0.0.1', options, (...words) => resolve(words)));
    expect(await ask({ all: true })).toEqual([null, [{ address: '127.0.0.1', family: 4 }]]);
    expect(await ask({ family: 'IPv4' })).toEqual([null, '127.0.0.1', 4]);
    expect(await ask({ family: 6 })).toMatchObject([{ code: 'ENOTFOUND' }, '', 0]);
  });
});

describe('the files of a machine', () => {
  it.each([
    ['', 'a', []],
    ['192.0.2.1 a b', 'b', ['192.0.2.1']],
    ['192.0.2.1\ta\n192.0.2.1 A\n192.0.2.2 a', 'a', ['192.0.2.1', '192.0.2.2']],
    ['192.0.2.1 # a', 'a', []],
    ['nonsense a', 'a', []],
    ['192.0.2.1 a.b', 'a', []],
  ])('name addresses: %j has %s', (text, host, addresses) => {
    expect(findInHosts(text, host)).toEqual(addresses);
  });

  it.each([
    ['', 'a', ['a']],
    ['search x.test y.test.', 'a', ['a.x.test', 'a.y.test', 'a']],
    ['search x.test', 'a.b', ['a.b', 'a.b.x.test']],
    ['search x.test', 'a.', ['a']],
    ['search x.test\noptions timeout:1 ndots:2', 'a.b', ['a.b.x.test', 'a.b']],
    ['search x.test\ndomain y.test', 'a', ['a.y.test', 'a']],
    ['# search x.test', 'a', ['a']],
  ])('say which names are meant: with %j, %s is one of %j', (text, host, names) => {
    expect(namesToAsk(text, host)).toEqual(names);
  });
});
