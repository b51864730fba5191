import { readFileSync } from 'node:fs';
import { connectEgress, type EgressControl } from '@svc/egress';
import { type EgressPolicy, forwardedOf } from '@svc/network-policy';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { type MadeInstance, WORLD } from '@svc/runtime/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readProcStat } from '#support/process-identity';
import { makeAuthority } from '../../src/network/egress/authority.js';
import { type EgressFixture, openEgressFixture } from './egress-fixture.js';
import { egressProcesses } from './egress-processes.js';

const runs = process.env.SVC_HEAVY === '1' && linuxDriverCanRun(await checkHost({}));
const OPEN: EgressPolicy = { allowOut: [], denyOut: [], rules: {} };
/** Requests to it are given a header, so its TLS is opened. */
const HEADERS: EgressPolicy = { ...OPEN, rules: { 'one.test': { headers: { 'x-key': 'value' } } } };
/** Addresses alone decide. */
const LISTED: EgressPolicy = { ...OPEN, denyOut: ['0.0.0.0/0'], allowOut: [`${WORLD.one}/32`] };
const GIB = 2 ** 30;
const ROUNDS = 5;

describe.skipIf(!runs)('what the egress process costs', () => {
  let fixture: EgressFixture;
  let control: EgressControl;
  let direct: MadeInstance;
  let forwarded: MadeInstance;
  let passed: MadeInstance;
  let opened: MadeInstance;

  beforeAll(async () => {
    fixture = await openEgressFixture();
    control = await connectEgress(await fixture.bench.driver.egress!.connect(), {
      resolveDns: (query) => fixture.resolve(query),
      resolvePlaceholders: () => Promise.reject(new Error('There are no secrets.')),
      onReports: () => undefined,
    });
    direct = await fixture.bench.create({ network: { egress: 'internet' } });
    forwarded = await fixture.bench.create({ network: { egress: 'governed' } });
    passed = await fixture.bench.create({ network: { egress: 'governed' } });
    opened = await fixture.bench.create({ network: { egress: 'governed' } });
    await control.setAuthority(await makeAuthority(Date.now()), fixture.internet.ca);
    await forwarded.instance.setForwarded!(forwardedOf(LISTED));
    for (const [{ instance }, policy] of [
      [forwarded, LISTED] as const,
      [passed, OPEN] as const,
      [opened, HEADERS] as const,
    ])
      await control.setSandbox({ id: instance.id, address: instance.address!, policy });
  });
  afterAll(() => fixture?.close());

  const transfers = [
    { what: 'downloads', transfer: (made: MadeInstance) => download(made, 'http') },
    { what: 'uploads', transfer: upload },
  ];

  it.each(transfers)(
    'is at most 40 % of the throughput of $what where addresses decide',
    async ({ what, transfer }) => {
      const ratios: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        // One after the other, so that load on the machine meets both.
        const [one, two] = [await transfer(direct), await transfer(forwarded)];
        ratios.push(two / one);
        console.log(`${what}: direct ${one.toFixed()} MB/s, forwarded by addresses ${two.toFixed()} MB/s`);
      }
      expect(median(ratios)).toBeGreaterThanOrEqual(0.6);
    },
    600_000,
  );

  it.each(transfers)(
    'is at most half of the throughput of $what where connections are read, and no memory',
    async ({ what, transfer }) => {
      const ratios: number[] = [];
      const memory: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const one = await transfer(direct);
        const before = processorSeconds();
        const two = await transfer(passed);
        ratios.push(two / one);
        memory.push(residentMiB());
        const cost = `${(processorSeconds() - before).toFixed(2)} s of processor time a GiB`;
        console.log(`${what}: direct ${one.toFixed()} MB/s, passed through ${two.toFixed()} MB/s, ${cost}`);
      }
      console.log(`${what}: ${memory.join(', ')} MiB`);
      expect(median(ratios)).toBeGreaterThanOrEqual(0.5);
      expect(Math.max(...memory) - memory[0]!).toBeLessThan(32);
    },
    600_000,
  );

  it('leaves a quarter of the throughput where it opens TLS', async () => {
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const one = await download(direct, 'https');
      const before = processorSeconds();
      const two = await download(opened, 'https');
      ratios.push(two / one);
      const cost = `${(processorSeconds() - before).toFixed(2)} s of processor time a GiB, ${residentMiB()} MiB`;
      console.log(`direct ${one.toFixed()} MB/s, TLS opened ${two.toFixed()} MB/s, ${cost}`);
    }
    expect(median(ratios)).toBeGreaterThanOrEqual(0.25);
  }, 600_000);

  it.each([
    { mode: 'passed through', scheme: 'http', mostMs: 2, through: () => passed },
    { mode: 'TLS opened', scheme: 'https', mostMs: 6, through: () => opened },
  ])(
    'is at most $mostMs ms of a new connection, half of them: $mode',
    async (way) => {
      const added: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const times = async ({ client }: MadeInstance) =>
          JSON.parse(await client.output(`node -e '${LATENCY}' ${WORLD.one} ${way.scheme}`)) as number[];
        const [one, two] = [median(await times(direct)), median(await times(way.through()))];
        added.push(two - one);
        console.log(`direct ${one.toFixed(2)} ms, ${way.mode} ${two.toFixed(2)} ms`);
      }
      expect(median(added)).toBeLessThanOrEqual(way.mostMs);
    },
    300_000,
  );

  it('leaves room for 1,000 connections a second', async () => {
    const rates: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const rate = async ({ client }: MadeInstance) =>
        Number(await client.output(`node -e '${CONNECTIONS}' ${WORLD.one}`));
      const [one, two] = [await rate(direct), await rate(passed)];
      console.log(`direct ${one.toFixed()} connections/s, passed through ${two.toFixed()}`);
      rates.push(two);
    }
    expect(Math.max(...rates)).toBeGreaterThanOrEqual(1_000);
  });

  /** MB/s */
  async function download({ client }: MadeInstance, scheme: 'http' | 'https'): Promise<number> {
    const port = scheme === 'http' ? 80 : 443;
    const speed = await client.output(
      `curl -kfs -m 300 --http1.1 --resolve one.test:${port}:${WORLD.one} -o /dev/null -w '%{speed_download}' ${scheme}://one.test/bytes/${GIB}`,
    );
    return Number(speed) / 1e6;
  }

  /** MB/s */
  async function upload({ client }: MadeInstance): Promise<number> {
    const speed = await client.output(
      `head -c ${GIB} /dev/zero | curl -fs -m 300 --http1.1 -H Expect: --resolve one.test:80:${WORLD.one} -o /dev/null -w '%{speed_upload}' -T - http://one.test/`,
    );
    return Number(speed) / 1e6;
  }

  /** Processor time of the process so far, of user and system. The kernel counts in hundredths of a second. */
  function processorSeconds(): number {
    const [pid] = egressProcesses(fixture.process.pid!);
    return readProcStat(pid!)!.cpuTicks / 100;
  }

  function residentMiB(): number {
    const [pid] = egressProcesses(fixture.process.pid!);
    const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1];
    return Math.round(Number(kib) / 1024);
  }
});

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

/** Prints how long each of 200 requests took, ms, each over a connection of its own. */
const LATENCY = `
const { get } = require(process.argv[2]);
const one = () => new Promise((done) => {
  const begin = performance.now();
  const options = { host: process.argv[1], servername: "one.test", headers: { host: "one.test" } };
  const request = get({ ...options, agent: false, rejectUnauthorized: false }, (r) => {
    r.resume().on("end", () => done(performance.now() - begin));
  });
  request.on("error", (error) => { throw error; });
});
(async () => {
  for (let i = 0; i < 20; i++) await one();
  const all = [];
  for (let i = 0; i < 200; i++) all.push(await one());
  console.log(JSON.stringify(all));
})();`;

/** Prints how many connections a second 64 workers make, each with one byte there and back. */
const CONNECTIONS = `
const net = require("net");
const one = () => new Promise((done) => {
  const s = net.connect({ port: 7, host: process.argv[1], noDelay: true }, () => s.write("x"));
  s.on("data", () => s.destroy()).on("close", done).on("error", () => {});
});
(async () => {
  const begin = performance.now();
  let left = 4000;
  await Promise.all(Array.from({ length: 64 }, async () => { while (left-- > 0) await one(); }));
  console.log(4000 / (performance.now() - begin) * 1000);
})();`;
