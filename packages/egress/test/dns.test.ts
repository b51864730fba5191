import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addressesOf, addressQuery, parseQuery } from '../src/dns/message.js';
import { QueryCounter } from '../src/dns/rate.js';
import { addressesReply } from './support/dns.js';
import { startTestEgress } from './support/egress.js';

const listen = { host: '127.0.0.1', port: 0 };

/** An egress process whose sandbox is this test itself. */
async function startWithDns() {
  const endsOf = () => ({ source: '127.0.0.1', address: '127.0.0.1', port: 53 });
  const egress = await startTestEgress({ dnsUdp: listen, dnsTcp: listen, endsOf });
  const { udp, tcp } = egress.dnsPorts;
  const setPolicy = (policy?: object) =>
    egress.control.setSandbox({
      id: 'sandbox',
      address: '127.0.0.1',
      ...(policy && { policy: { allowOut: [], denyOut: [], rules: {}, ...policy } }),
    });
  const overUdp = async (query: Buffer, timeoutMs = 30_000) => {
    const socket = createSocket('udp4');
    onTestFinished(() => void socket.close());
    socket.send(query, udp!, '127.0.0.1');
    const [reply] = await once(socket, 'message', { signal: AbortSignal.timeout(timeoutMs) });
    return reply as Buffer;
  };
  const overTcp = async (query: Buffer, pieces = query.length + 2) => {
    const socket = connect(tcp!, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const framed = Buffer.concat([Buffer.from([query.length >> 8, query.length & 255]), query]);
    for (let at = 0; at < framed.length; at += pieces) socket.write(framed.subarray(at, at + pieces));
    let reply = Buffer.alloc(0);
    for await (const chunk of socket) {
      reply = Buffer.concat([reply, chunk as Buffer]);
      if (reply.length >= 2 && reply.length >= 2 + reply.readUInt16BE(0)) break;
    }
    return reply.subarray(2);
  };
  return { ...egress, setPolicy, overUdp, overTcp };
}

const codeOf = (reply: Buffer) => reply[3]! & 15;

describe('the DNS forwarder', () => {
  it('gives the answers of the resolver of the server, over UDP and TCP, a byte at a time too', async () => {
    const egress = await startWithDns();
    await egress.setPolicy();
    egress.names.set('a.example', ['1.2.3.4', '5.6.7.8']);
    const expected = { addresses: ['1.2.3.4', '5.6.7.8'], ttlSeconds: 30 };
    expect(addressesOf(await egress.overUdp(addressQuery(7, 'a.example')))).toEqual(expected);
    expect(addressesOf(await egress.overTcp(addressQuery(7, 'A.example'), 1))).toEqual(expected);
  });

  it('refuses names that no rule could allow, without asking anybody', async () => {
    const egress = await startWithDns();
    await egress.setPolicy({ allowOut: ['*.example'], denyOut: ['0.0.0.0/0'] });
    egress.names.set('a.example', ['1.2.3.4']);
    expect(codeOf(await egress.overUdp(addressQuery(7, 'a.example')))).toBe(0);
    expect(codeOf(await egress.overUdp(addressQuery(8, 'stolen.evil.test')))).toBe(5);
    expect(egress.asked).toEqual(['a.example']);
    await egress.report(
      ({ host, outcome, port }) => host === 'stolen.evil.test' && outcome === 'denied' && port === 53,
    );
  });

  it('keeps the keys that hide names in TLS from sandboxes with a policy', async () => {
    const egress = await startWithDns();
    const query = addressQuery(7, 'a.example');
    query.writeUInt16BE(65, query.length - 4);
    await egress.setPolicy({});
    expect(addressesOf(await egress.overUdp(query)).addresses).toEqual([]);
    expect(egress.asked).toEqual([]);
  });

  it('says that an answer is too long for a datagram, and gives it over TCP', async () => {
    const egress = await startWithDns();
    await egress.setPolicy();
    egress.names.set(
      'many.example',
      Array.from({ length: 60 }, (_, index) => `1.2.3.${index}`),
    );
    const reply = await egress.overUdp(addressQuery(7, 'many.example'));
    expect(reply[2]! & 2).toBe(2);
    expect(addressesOf(await egress.overTcp(addressQuery(7, 'many.example'))).addresses).toHaveLength(60);
  });

  it('fails a query that the server has no answer to', async () => {
    const egress = await startWithDns();
    await egress.setPolicy();
    const broken = await egress.reconnect({ resolveDns: () => Promise.reject(new Error('secret reason')) });
    onTestFinished(() => broken.close());
    expect(codeOf(await egress.overUdp(addressQuery(7, 'a.example')))).toBe(2);
  });

  it('says nothing to strangers and to garbage, and continues', async () => {
    const egress = await startWithDns();
    await expect(egress.overUdp(addressQuery(1, 'a.example'), 200)).rejects.toThrow();
    await egress.setPolicy();
    for (const garbage of [Buffer.alloc(0), Buffer.alloc(12), Buffer.alloc(600, 0xff)])
      await expect(egress.overUdp(garbage, 100)).rejects.toThrow();
    egress.names.set('a.example', ['1.2.3.4']);
    expect(codeOf(await egress.overUdp(addressQuery(7, 'a.example')))).toBe(0);
  });
});

describe('a DNS message', () => {
  it('never breaks its reader, with any byte cut or changed', () => {
    const reply = addressesReply(addressQuery(1, 'a.b.example'), ['1.2.3.4']);
    for (let end = 0; end < reply.length; end++) {
      parseQuery(reply.subarray(0, end));
      expect(addressesOf(reply.subarray(0, end)).addresses).toEqual([]);
    }
    for (let at = 0; at < reply.length; at++)
      for (const value of [0, 1, 0x3f, 0x40, 0xc0, 0xff]) {
        const changed = Buffer.from(reply);
        changed[at] = value;
        addressesOf(changed);
        parseQuery(changed);
      }
  });
});

describe('the rate of queries', () => {
  it('takes a burst, then so many each second, for each sandbox alone', () => {
    let now = 0;
    const counter = new QueryCounter({ burst: 2, perSecond: 10 }, () => now);
    expect(['a', 'a', 'a', 'b'].map((id) => counter.admit(id))).toEqual([true, true, false, true]);
    now = 100;
    expect([counter.admit('a'), counter.admit('a')]).toEqual([true, false]);
  });
});
