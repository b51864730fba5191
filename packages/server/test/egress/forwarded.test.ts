import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { connectEgress, type EgressControl, type EgressReport } from '@svc/egress';
import { type EgressPolicy, forwardedOf } from '@svc/network-policy';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { DaemonClient, type MadeInstance, type RunningCommand, WORLD } from '@svc/runtime/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '#support/eventually';
import { type EgressFixture, openEgressFixture } from './egress-fixture.js';
import { egressProcesses } from './egress-processes.js';
import { capturePackets, type PacketCapture } from './packet-capture.js';

const runs = linuxDriverCanRun(await checkHost({}));
const WAIT = { timeout: 60_000 };
/** Two addresses, and a name that has to be read. */
const TWO: EgressPolicy = {
  allowOut: [`${WORLD.one}/32`, WORLD.other, 'two.test'],
  denyOut: ['0.0.0.0/0'],
  rules: {},
};
const ONE: EgressPolicy = { ...TWO, allowOut: [WORLD.one] };
const ALL: EgressPolicy = { allowOut: [], denyOut: [], rules: {} };
const PROXIED: EgressPolicy = { ...ALL, proxy: { address: `${WORLD.proxy}:1080` } };

describe.skipIf(!runs)('connections that need no reading', { timeout: 180_000 }, () => {
  let fixture: EgressFixture;
  let control: EgressControl;
  const reports: EgressReport[] = [];

  beforeAll(async () => {
    fixture = await openEgressFixture({ rawSockets: true });
    control = await rule();
  });
  afterEach(async () => {
    await fixture.bench.sweep();
    reports.length = 0;
  });
  afterAll(() => fixture?.close());

  async function rule(): Promise<EgressControl> {
    return await eventually('the egress process to be connected to', async () =>
      connectEgress(await fixture.bench.driver.egress!.connect(), {
        resolveDns: (query) => fixture.resolve(query),
        resolvePlaceholders: () => Promise.reject(new Error('There are no secrets.')),
        onReports: (batch) => void reports.push(...batch),
      }),
    );
  }

  /** In the order of the server. */
  async function govern({ instance }: MadeInstance, policy: EgressPolicy): Promise<void> {
    await instance.setForwarded!(forwardedOf(policy));
    await control.setSandbox({ id: instance.id, address: instance.address!, policy });
  }

  async function make(policy: EgressPolicy): Promise<MadeInstance> {
    const made = await fixture.bench.create({ network: { egress: 'governed' } });
    await govern(made, policy);
    return made;
  }

  const get = async (client: DaemonClient, url: string): Promise<string> => {
    const { stdout, exitCode } = await client.run(
      `curl -ks -m 20 -o /dev/null -w '%{http_code}' --resolve two.test:443:${WORLD.two} '${url}'`,
    );
    if (exitCode === 0) return stdout;
    return exitCode === 28 ? 'no answer' : 'ended';
  };

  /** Says `open` when it is answered, and `closed` when it ends; it never sends again. */
  async function listen(client: DaemonClient, address: string, port = 7): Promise<RunningCommand> {
    const program = `$| = 1; my $s = IO::Socket::INET->new("${address}:${port}") or die; print $s "x"; sysread $s, my $b, 1; print "open\\n"; print sysread($s, $b, 1) ? "more\\n" : "closed\\n"`;
    const command = await client.start(`perl -MIO::Socket::INET -e '${program}'`);
    await vi.waitFor(() => expect(command.stdout()).toBe('open\n'), WAIT);
    return command;
  }

  /** An echo that sends a letter for each line in `/tmp/go`, and says what comes back. */
  async function talk(client: DaemonClient, address: string) {
    await client.output('rm -f /tmp/go && mkfifo /tmp/go');
    const program = `$| = 1; my $s = IO::Socket::INET->new("${address}:7") or die; print "open\\n"; open my $go, "+<", "/tmp/go"; while (<$go>) { print $s "x"; print sysread($s, my $b, 1) ? "said\\n" : "closed\\n" }`;
    const command = await client.start(`perl -MIO::Socket::INET -e '${program}'`);
    await vi.waitFor(() => expect(command.stdout()).toBe('open\n'), WAIT);
    return { command, say: () => client.output('echo > /tmp/go') };
  }

  /** Returns the output of a command in the network namespace where the veth pairs end. */
  function inGateway(...command: string[]): string {
    const [pid] = egressProcesses(fixture.process.pid!);
    return execFileSync('nsenter', [`--net=/proc/${pid}/ns/net`, ...command], { encoding: 'utf8' });
  }

  it('pass the egress process, which gets all others: names, and what is denied', async () => {
    const made = await make(TWO);
    const { client } = made;
    for (const [url, expected] of Object.entries({
      [`http://${WORLD.one}:8080/`]: '200',
      [`https://${WORLD.other}:8443/`]: '200',
      'https://two.test/': '200',
      [`http://${WORLD.one}/`]: '200',
      // Reset, not only dropped.
      [`http://${WORLD.two}:8080/`]: 'ended',
      [`https://${WORLD.two}/`]: 'ended',
      'http://10.9.8.7:8080/': 'ended',
    }))
      expect(await get(client, url), url).toBe(expected);
    await vi.waitFor(() => {
      const told = reports.map(({ host, address, port, outcome }) => `${host ?? address} ${port} ${outcome}`);
      expect(told).toContain('10.9.8.7 8080 denied');
      expect(told).toContain(`${WORLD.two} 8080 denied`);
      expect(told).toContain('two.test 443 allowed');
      // The policy has a name, so port 80 is read.
      expect(told).toContain(`${WORLD.one} 80 allowed`);
      expect(told.filter((each) => / (8080|8443) allowed/.test(each))).toEqual([]);
    }, WAIT);
    const counts = (await fixture.bench.driver.forwardedTraffic!()).filter(
      ({ instanceId }) => instanceId === made.instance.id,
    );
    const places = counts.map(({ address, port, connections }) => `${address}:${port} ${connections}`);
    expect(places.sort()).toEqual([`${WORLD.other}:8443 1`, `${WORLD.one}:8080 1`]);
    for (const { bytesSent, bytesReceived } of counts) {
      expect(bytesSent).toBeGreaterThan(100);
      expect(bytesReceived).toBeGreaterThan(100);
    }
  });

  it('end at once when they are denied, also those that only listen, and others continue', async () => {
    const made = await make(TWO);
    const { client } = made;
    const [ends, stays] = [await listen(client, WORLD.other), await talk(client, WORLD.one)];
    const file = await client.start(`curl -s -m 60 -o /dev/null http://${WORLD.other}:8080/slow; echo $?`);
    await vi.waitFor(() => expect(fixture.internet.seen.some(({ url }) => url === '/slow')).toBe(true), WAIT);
    await govern(made, ONE);
    expect((await ends.result).stdout).toBe('open\nclosed\n');
    expect((await file.result).stdout).toBe('56\n');
    await stays.say();
    await vi.waitFor(() => expect(stays.command.stdout()).toBe('open\nsaid\n'), WAIT);
    expect(await get(client, `http://${WORLD.other}:8080/`)).toBe('ended');
    // A proxy takes everything, so nothing goes on beside it.
    await govern(made, PROXIED);
    expect(await get(client, `http://${WORLD.one}:8080/`)).not.toBe('200');
    await stays.say();
    await vi.waitFor(() => expect(stays.command.stdout()).toBe('open\nsaid\nclosed\n'), WAIT);
  });

  it('stay where they are when the policy widens, and when they end and begin again', async () => {
    const made = await make(PROXIED);
    const { client } = made;
    await govern(made, { ...TWO, allowOut: [...TWO.allowOut, 'other.test'] });
    const read = await talk(client, WORLD.one);
    await govern(made, ALL);
    await read.say();
    await vi.waitFor(() => expect(read.command.stdout()).toBe('open\nsaid\n'), WAIT);
    for (const egress of ['internet', 'governed', 'none', 'governed'] as const)
      await made.instance.setNetwork({ egress });
    // The policy of the earlier mode does not come back with it: the egress process decides.
    expect(await fixture.bench.driver.forwardedTraffic!()).toEqual([]);
    expect(await get(client, `http://${WORLD.one}:8080/`)).toBe('200');
    await vi.waitFor(
      () => expect(reports).toContainEqual(expect.objectContaining({ port: 8080, outcome: 'allowed' })),
      WAIT,
    );
  });

  it('continue while the egress process is dead, and nothing else does', async () => {
    const made = await make(TWO);
    const { command, say } = await talk(made.client, WORLD.one);
    const [process] = egressProcesses(fixture.process.pid!);
    const lost = control.closed;
    globalThis.process.kill(process!, 'SIGKILL');
    await lost;
    await say();
    await vi.waitFor(() => expect(command.stdout()).toBe('open\nsaid\n'), WAIT);
    expect(await get(made.client, `http://${WORLD.one}:8080/`)).toBe('200');
    expect(await get(made.client, `http://${WORLD.two}:8080/`)).not.toBe('200');
    expect(await get(made.client, 'https://two.test/')).not.toBe('200');
    control = await rule();
  });

  it('stand still while the driver is away, until the next one gets them', async () => {
    const made = await make(TWO);
    const { id } = made.instance;
    const { command } = await talk(made.client, WORLD.one);
    const ended = once(fixture.process, 'exit');
    fixture.process.kill('SIGKILL');
    await ended;
    await fixture.bench.open();
    const instance = (await fixture.bench.driver.adopt(id))!;
    const again = { instance, client: new DaemonClient(instance) };
    await again.client.output('echo > /tmp/go');
    expect(await get(again.client, `http://${WORLD.one}:8080/`)).not.toBe('200');
    expect(command.stdout()).toBe('open\n');
    control = await rule();
    await govern(again, ONE);
    expect(await get(again.client, `http://${WORLD.one}:8080/`)).toBe('200');
    await vi.waitFor(() => expect(command.stdout()).toBe('open\nsaid\n'), WAIT);
  });

  it('are withdrawn with the sandbox, and a new one begins without any', async () => {
    const chains = () => {
      const rules = inGateway('nft', 'list', 'table', 'inet', 'sandboxes');
      return (
        [...rules.matchAll(/(chain|set) (\w+_\d+\w*) /g)].length + (rules.includes('jump forward_') ? 1 : 0)
      );
    };
    const { instance, client } = await make(ALL);
    expect(await get(client, `http://${WORLD.one}:8080/`)).toBe('200');
    expect(chains()).toBe(7);
    await instance.destroy();
    await vi.waitFor(() => expect(chains()).toBe(0), WAIT);
    const next = await fixture.bench.create({ network: { egress: 'governed' } });
    expect(await get(next.client, `http://${WORLD.one}:8080/`)).toBe('ended');
  });

  it('are those of one veth pair, not of its name', async () => {
    const rich = await make(ALL);
    const poor = await fixture.bench.create({ network: { egress: 'governed' } });
    const [old, other] = [rich, poor].map(({ instance }) => {
      const route = inGateway('ip', 'route', 'get', instance.address!);
      return / dev (s\d+) /.exec(route)![1]!;
    }) as [string, string];
    const url = `http://${WORLD.one}:8080/`;
    expect(await get(rich.client, url)).toBe('200');
    const rename = (from: string, to: string) => {
      inGateway('ip', 'link', 'set', from, 'down');
      inGateway('ip', 'link', 'set', from, 'name', to);
      inGateway('ip', 'link', 'set', to, 'up');
    };
    rename(old, 'aside');
    rename(other, old);
    expect(inGateway('nft', 'list', 'map', 'inet', 'sandboxes', 'forwarded')).toContain(`"${old}" : jump`);
    expect(await get(poor.client, url)).toBe('ended');
    rename(old, other);
    rename('aside', old);
    expect(await get(rich.client, url)).toBe('200');
  });

  it('end for packets of programs that the kernel of the sandbox knows nothing of', async () => {
    // Nobody has this address, so nobody ends the connection.
    const nobody = '93.184.216.99';
    const made = await make({ ...ONE, allowOut: [nobody] });
    const capture = await captureOutside(fixture);
    const send = async (text: string) => {
      const words = [made.instance.address!, nobody, 0x18, 0, 41_000, `"${text};"`].join(' ');
      expect(await made.client.run(`perl -e '${FORGE}' ${words}`, 'root')).toMatchObject({ exitCode: 0 });
    };
    const arrives = (text: string) =>
      vi.waitFor(async () => expect((await capture.packets()).includes(`${text};`)).toBe(true), WAIT);
    try {
      await send('begun');
      await arrives('begun');
      await send('allowed');
      await arrives('allowed');
      await govern(made, { ...ONE, allowOut: [WORLD.two] });
      await send('denied');
      expect(await get(made.client, `http://${WORLD.two}:8080/last`)).toBe('200');
      await vi.waitFor(async () => expect((await capture.packets()).includes('/last')).toBe(true), WAIT);
      expect((await capture.packets()).includes('denied;')).toBe(false);
    } finally {
      await capture.stop();
    }
  });

  it('are not to be had by packets that somebody forges', async () => {
    const rich = await make(ALL);
    const poor = await make(ONE);
    const held = await listen(rich.client, WORLD.other);
    const sport = (
      await rich.client.output(`ss -Htn state established dst ${WORLD.other} | awk '{print $3}'`)
    )
      .trim()
      .split(':')[1]!;
    const [rights, own] = [rich.instance.address!, poor.instance.address!];
    const forged = {
      'in the name of another sandbox': [rights, WORLD.other, 0x18, 0],
      'to begin what is denied': [own, WORLD.other, 0x02, 0],
      'to begin it in fragments': [own, WORLD.other, 0x02, 1],
      'in the middle of what never began': [own, WORLD.other, 0x18, 0],
      'in the middle, in fragments': [own, WORLD.other, 0x18, 1],
      'to a private range': [own, '10.9.8.7', 0x02, 0],
      'to what is allowed': [own, WORLD.one, 0x02, 0],
      'to what is allowed in fragments': [own, WORLD.one, 0x02, 1],
    };
    const capture = await captureOutside(fixture);
    try {
      for (const [text, words] of Object.entries(forged)) {
        const script = `perl -e '${FORGE}' ${[...words, sport].join(' ')} 'forged ${text};'`;
        const { exitCode, stderr } = await poor.client.run(script, 'root');
        expect(stderr).toBe('');
        expect(exitCode).toBe(0);
      }
      expect(await get(poor.client, `http://${WORLD.one}:8080/last`)).toBe('200');
      await vi.waitFor(async () => expect((await capture.packets()).includes('/last')).toBe(true), WAIT);
      const bytes = await capture.packets();
      const seen = Object.keys(forged).filter((text) => bytes.includes(`${text};`));
      expect(seen).toEqual(['to what is allowed', 'to what is allowed in fragments']);
    } finally {
      await capture.stop();
    }
    expect(held.stdout()).toBe('open\n');
    expect(await get(poor.client, `http://${WORLD.other}:8080/`)).not.toBe('200');
  });

  it('cannot be reported in words that are no addresses', async () => {
    const { instance } = await make(ONE);
    for (const ranges of [
      [{ first: '1.2.3.4', last: '1.2.3.3' }],
      [{ first: '1.2.3.4 } accept', last: '1.2.3.5' }],
      [{ first: '1.2.3.4', last: '::1' }],
      [
        { first: '2.0.0.0', last: '2.0.0.9' },
        { first: '2.0.0.9', last: '2.0.0.10' },
      ],
      Array.from({ length: 257 }, (_, index) => ({
        first: `2.${index >> 8}.${index & 255}.1`,
        last: `2.${index >> 8}.${index & 255}.1`,
      })),
    ])
      await expect(instance.setForwarded!({ ranges, exceptPorts: [] })).rejects.toMatchObject({
        code: 'invalid_spec',
      });
    await expect(instance.setForwarded!({ ranges: [], exceptPorts: [0] })).rejects.toMatchObject({
      code: 'invalid_spec',
    });
  });
});

/** Captures what comes to the fake internet. */
async function captureOutside(fixture: EgressFixture): Promise<PacketCapture> {
  const [command, ...words] = fixture.internet.outside(['sh', '-c', 'echo; exec sleep infinity']);
  const inside = spawn(command!, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(inside.stdout, 'data');
  const capture = await capturePackets(inside.pid!, join(fixture.internet.directory, 'outside'));
  return {
    packets: capture.packets,
    stop: async () => {
      await capture.stop();
      inside.kill('SIGKILL');
      await once(inside, 'exit');
    },
  };
}

/** Sends one TCP segment to port 7. Arguments: source, destination, flags, whether in two fragments, port, text. */
const FORGE = `
my ($from, $to, $flags, $split, $port, $text) = @ARGV;
my ($src, $dst) = map { pack "C4", split /\\./ } $from, $to;
sub sum { my $s = 0; $s += $_ for unpack "n*", $_[0] . "\\0"; $s = ($s & 65535) + ($s >> 16) for 1, 2; 65535 - $s }
my $tcp = sub { pack("nnNNCCnnn", $port, 7, 1000, 1, 80, $flags, 1024, $_[0], 0) . $text };
my $whole = $tcp->(0);
$whole = $tcp->(sum($src . $dst . pack("CCn", 0, 6, length $whole) . $whole));
socket(my $s, 2, 3, 255) or die "raw: $!";
setsockopt($s, 0, 3, 1) or die;
for ($split ? ([0x2000, substr $whole, 0, 24], [3, substr $whole, 24]) : [0, $whole]) {
  my $packet = pack("C2n3C2na4a4", 0x45, 0, 20 + length $_->[1], 77, $_->[0], 64, 6, 0, $src, $dst) . $_->[1];
  send($s, $packet, 0, pack("Sna4x8", 2, 0, $dst)) or die "send: $!";
}`;
