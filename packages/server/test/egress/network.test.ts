import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectEgress, type EgressControl, type EgressReport } from '@svc/egress';
import type { EgressPolicy } from '@svc/network-policy';
import type { InstanceNetwork } from '@svc/runtime/contract';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { DaemonClient, type MadeInstance, type RunningCommand, WORLD } from '@svc/runtime/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '#support/eventually';
import { type EgressFixture, openEgressFixture } from './egress-fixture.js';
import { egressProcesses } from './egress-processes.js';

const runs = linuxDriverCanRun(await checkHost({}));
const OPEN: EgressPolicy = { allowOut: [], denyOut: [], rules: {} };
const ONLY_ONE: EgressPolicy = { allowOut: ['one.test', '*.one.test'], denyOut: ['0.0.0.0/0'], rules: {} };
/** A mirror that the operator allows, at a private address. */
const ALLOWED = `${WORLD.mirror}/32`;

// Programs of six kinds start in several sandboxes: on a busy machine that takes its time.
describe.skipIf(!runs)('what sandboxes reach', { timeout: 180_000 }, () => {
  let fixture: EgressFixture;
  let control: EgressControl;
  const reports: EgressReport[] = [];
  const questions: string[] = [];

  beforeAll(async () => {
    fixture = await openEgressFixture({ rawSockets: true, network: { allowRanges: [ALLOWED] } });
    control = await rule();
  });
  afterEach(async () => {
    await fixture.bench.sweep();
    reports.length = 0;
    questions.length = 0;
  });
  afterAll(() => fixture?.close());

  /** Connects as the server does, and answers names by the world's resolver. */
  async function rule(): Promise<EgressControl> {
    return await eventually('the egress process to be connected to', async () =>
      connectEgress(await fixture.bench.driver.egress!.connect(), {
        resolveDns: (query, { sandboxId }) => {
          questions.push(sandboxId);
          return fixture.resolve(query);
        },
        resolvePlaceholders: () => Promise.reject(new Error('There are no secrets.')),
        onReports: (batch) => void reports.push(...batch),
      }),
    );
  }

  async function govern({ instance }: MadeInstance, policy?: EgressPolicy): Promise<void> {
    await control.setSandbox({
      id: instance.id,
      address: instance.address!,
      ...(policy === undefined ? {} : { policy }),
    });
  }

  async function make(egress: InstanceNetwork['egress'], policy?: EgressPolicy): Promise<MadeInstance> {
    const made = await fixture.bench.create({ network: { egress } });
    await govern(made, policy);
    return made;
  }

  /** Requests from inside: the answer's status, or `no`. */
  async function get(client: DaemonClient, url: string): Promise<string> {
    const { stdout, exitCode } = await client.run(
      `curl -ks -m 10 -o /dev/null -w '%{http_code}' '${url}'`,
      'root',
    );
    return exitCode === 0 ? stdout : 'no';
  }

  /** Counts the packets that the network of an instance refused, by reason. */
  async function refused({ instance }: Pick<MadeInstance, 'instance'>): Promise<Record<string, number>> {
    const counts = await fixture.bench.driver.refusedPackets!();
    const own = counts.filter(({ instanceId }) => instanceId === instance.id);
    return Object.fromEntries(own.map(({ reason, packets }) => [reason, packets]));
  }

  async function table(client: DaemonClient, expected: Record<string, string>): Promise<void> {
    const urls = Object.keys(expected);
    const found = await Promise.all(urls.map(async (url) => [url, await get(client, url)]));
    expect(Object.fromEntries(found)).toEqual(expected);
  }

  it('is what their mode and policy say, by name and by address', async () => {
    const one = await make('governed', ONLY_ONE);
    const open = await make('governed', OPEN);
    const plain = await make('internet');
    const none = await make('none');
    await table(one.client, {
      'http://one.test/': '200',
      'https://one.test/': '200',
      'https://api.one.test/': '200',
      'http://two.test/': 'no',
      'https://two.test/': 'no',
      [`http://${WORLD.one}/`]: 'no',
      [`https://${WORLD.two}/`]: 'no',
    });
    for (const { client } of [open, plain])
      await table(client, {
        'http://one.test/': '200',
        'https://two.test/': '200',
        [`http://${WORLD.other}/`]: '200',
        'http://one.test:8080/': '200',
        'http://mirror.test/': '200',
        'http://metadata.test/': 'no',
        'http://10.9.8.7/': 'no',
      });
    await table(none.client, { 'http://one.test/': 'no', [`https://${WORLD.one}/`]: 'no' });
    // The kernel's way and the process's are different ones.
    expect(questions).toContain(plain.instance.id);
    expect(questions).not.toContain(none.instance.id);
  });

  it('is the same for curl, Node, Python, git, pip and apt', async () => {
    serveFiles(fixture.internet.files);
    fixture.internet.forget();
    const { client } = await make('governed', ONLY_ONE);
    await client.output(`cat > /tmp/ca.pem <<'PEM'\n${fixture.internet.ca}\nPEM\n`);
    const tries = (host: string): Record<string, string> => ({
      curl: `curl -sf -m 20 --cacert /tmp/ca.pem https://${host}/`,
      node: `NODE_EXTRA_CA_CERTS=/tmp/ca.pem node -e "fetch('https://${host}/').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"`,
      python: `python3 -c "import ssl, urllib.request as u; u.urlopen('https://${host}/', context=ssl.create_default_context(cafile='/tmp/ca.pem'), timeout=20)"`,
      git: `rm -rf /tmp/repo && git -c http.sslCAInfo=/tmp/ca.pem clone -q https://${host}/files/repo.git /tmp/repo`,
      pip: `pip download -q --disable-pip-version-check --no-deps --retries 0 --timeout 20 --cert /tmp/ca.pem --index-url https://${host}/files/simple/ -d /tmp/wheels tiny`,
      apt: `mkdir -p /tmp/apt/lists/partial && echo 'deb [trusted=yes] http://${host}/files/apt ./' > /tmp/apt/list && apt-get update -o Dir::Etc::SourceList=/tmp/apt/list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=/tmp/apt/lists -o Dir::Cache=/tmp/apt -o Acquire::Retries=0 -o APT::Update::Error-Mode=any -qq`,
    });
    for (const [program, script] of Object.entries(tries('one.test'))) {
      const { exitCode, stderr } = await client.run(script);
      expect(exitCode, `${program}: ${stderr}`).toBe(0);
    }
    for (const [program, script] of Object.entries(tries('two.test')))
      expect((await client.run(script)).exitCode, program).not.toBe(0);
    expect(
      fixture.internet.seen.some(({ headers }) => JSON.stringify(headers ?? '').includes('two.test')),
    ).toBe(false);
  });

  /** A connection from inside that says `open`, and `closed` when it ends. */
  async function hold(client: DaemonClient, address: string = WORLD.one): Promise<RunningCommand> {
    const program = `$| = 1; my $s = IO::Socket::INET->new("${address}:7") or die; print $s "x"; sysread $s, my $b, 1; print "open\\n"; print sysread($s, $b, 1) ? "more\\n" : "closed\\n"`;
    const command = await client.start(`perl -MIO::Socket::INET -e '${program}'`);
    await vi.waitFor(() => expect(command.stdout()).toBe('open\n'), { timeout: 100_000 });
    return command;
  }

  it('changes at once, open connections included, and leaves those into the sandbox alone', async () => {
    const made = await make('internet');
    const { instance, client } = made;
    await govern(made, OPEN);
    const watched = await client.start('while sleep 0.1; do echo; done');
    for (const egress of ['governed', 'none', 'governed', 'internet', 'none', 'internet'] as const) {
      const before = (await reaches(client)) ? await hold(client) : undefined;
      await instance.setNetwork({ egress });
      if (before !== undefined) expect((await before.result).stdout).toBe('open\nclosed\n');
      expect(await reaches(client), egress).toBe(egress !== 'none');
    }
    const lines = watched.stdout().length;
    await vi.waitFor(() => expect(watched.stdout().length).toBeGreaterThan(lines), { timeout: 100_000 });
  });

  it('stays through a pause, goes along into copies, and is given to sandboxes of the pool', async () => {
    const { bench } = fixture;
    const made = await make('governed', ONLY_ONE);
    const { instance, client } = made;
    await instance.freeze();
    await instance.thaw();
    await table(client, { 'http://one.test/': '200', 'http://two.test/': 'no' });
    await instance.checkpoint({ checkpointId: 'governed', memory: true, then: 'continue' });
    const network = { egress: 'governed' } as const;
    const copies = await Promise.all(
      ['copy1', 'copy2'].map((id) =>
        bench.driver.restore({ id, checkpointId: 'governed', memory: true, spec: bench.spec({ network }) }),
      ),
    );
    for (const copy of copies) {
      expect(copy.address).not.toBe(instance.address);
      const inside = new DaemonClient(copy);
      // Nobody has said yet what it may.
      expect(await get(inside, `http://${WORLD.one}/`)).toBe('no');
      await govern({ instance: copy, client: inside }, ONLY_ONE);
      await table(inside, { 'http://one.test/': '200', 'http://two.test/': 'no' });
    }
    bench.driver.setPool([{ spec: bench.spec(), size: 2 }]);
    await bench.driver.poolReady();
    const pooled = await make('governed', ONLY_ONE);
    await table(pooled.client, { 'http://one.test/': '200', 'http://two.test/': 'no' });
    const none = await make('none');
    expect(await reaches(none.client)).toBe(false);
  });

  it('is nothing of the host, of other sandboxes, of the proxy itself and of private networks', async () => {
    const governed = await make('governed', {
      allowOut: ['0.0.0.0/0', '10.0.0.0/8'],
      denyOut: [],
      rules: {},
    });
    const other = await make('internet');
    const gateway = await governed.client.output("ip route | sed -n 's/^default via \\([0-9.]*\\).*/\\1/p'");
    const link = other.instance.reach!.hosts[0]!.replace(/\.\d+$/, '.2');
    const targets = [
      ...[other.instance.address!, governed.instance.address!.replace(/\d+$/, '1'), gateway, link],
      ...['198.41.0.2', '198.51.100.53', '127.0.0.1', '0.0.0.0', '10.0.0.1', '10.255.255.254', '100.64.0.1'],
      ...['100.127.255.254', '169.254.169.254', '169.254.170.2', '172.16.0.1', '172.31.255.254', '192.0.0.8'],
      ...['192.0.2.1', '192.168.0.1', '192.168.255.254', '198.18.0.1', '198.19.255.254', '198.51.100.1'],
      ...['203.0.113.1', '224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255'],
    ];
    const ports = [22, 53, 80, 443, 15_001, 49_983];
    const program = `use IO::Socket::INET; use IO::Select; for my $t (@ARGV) { my ($h, $p) = split /:/, $t; my $s = IO::Socket::INET->new(PeerAddr => $h, PeerPort => $p, Blocking => 0) or next; IO::Select->new($s)->can_write(0.5) or next; $s->connected or next; print $s "GET / HTTP/1.0\\r\\n\\r\\n"; IO::Select->new($s)->can_read(0.5) or next; my $b; sysread($s, $b, 9) and print "$t $b\\n" }`;
    const words = targets.flatMap((target) => ports.map((port) => `${target}:${port}`));
    // Its own daemon is its own.
    const { stdout } = await governed.client.run(`perl -e '${program}' ${words.join(' ')}`, 'root');
    expect(
      stdout
        .split('\n')
        .filter((line) => !/^(127\.0\.0\.1|0\.0\.0\.0):(49983|53) /.test(line))
        .join(),
    ).toBe('');
    expect(await refused(governed)).toEqual({ 'another sandbox or the host': expect.any(Number) });
    expect(await refused(other)).toEqual({});
    expect(await get(other.client, 'http://10.0.0.1/')).toBe('no');
    expect(await refused(other)).toEqual({ 'private range': expect.any(Number) });
    for (const [address, range] of [
      ['10.0.0.1', '10.0.0.0/8'],
      ['169.254.169.254', '169.254.0.0/16'],
    ])
      await vi.waitFor(
        () =>
          expect(
            reports.filter((report) => report.address === address && report.port === 443),
          ).toContainEqual(expect.objectContaining({ outcome: 'denied', rule: `private range ${range}` })),
        { timeout: 100_000 },
      );
  });

  it('is TCP and names alone: no other UDP, no ICMP, no IPv6', async () => {
    const governed = await make('governed', OPEN);
    const { client } = governed;
    const { instance } = await make('none');
    const send = (host: string, port: number) =>
      `perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(Proto => "udp", PeerAddr => "${host}:${port}"); my $q = pack("H*", "abcd01000001000000000000036f6e6504746573740000010001"); for (1..3) { send $s, $q, 0; my $r = ""; vec($r, fileno $s, 1) = 1; if (select $r, undef, undef, 1) { sysread($s, my $b, 512) and print "answered" and exit } }'`;
    expect(await client.output(send(WORLD.resolver, 53))).toBe('answered');
    expect(await client.output(send('198.51.100.53', 53))).toBe('answered');
    expect(await client.output(send(WORLD.resolver, 5353))).toBe('');
    expect((await client.run('ping -c 1 -W 1 93.184.216.34', 'root')).exitCode).not.toBe(0);
    expect((await client.run('curl -s -m 3 "http://[2606:2800:220:1::1]/"')).exitCode).not.toBe(0);
    questions.length = 0;
    const none = new DaemonClient(instance);
    for (const place of ['198.51.100.53', WORLD.resolver])
      expect(await none.output(send(place, 53))).toBe('');
    expect((await none.run('getent hosts secret-in-a-name.one.test')).exitCode).not.toBe(0);
    expect(questions).toEqual([]);
    // There is no way for IPv6 at all, so nothing of it comes as far as to be refused.
    expect(await refused(governed)).toEqual({ 'not TCP': expect.any(Number) });
    expect(await refused({ instance })).toEqual({ 'no internet access': expect.any(Number) });
  });

  it('is not widened by the address of another sandbox', async () => {
    const rich = await make('governed', OPEN);
    const poor = await make('governed', { allowOut: [], denyOut: ['0.0.0.0/0'], rules: {} });
    fixture.internet.forget();
    // Raw sockets are allowed here, so a packet can have any source.
    const forge = `
      my ($src, $dst) = map { pack "C4", split /\\./ } "${rich.instance.address}", $ARGV[0];
      my $udp = pack("n4", 4000, 53, 8 + 26, 0) . pack("H*", "abcd0100000100000000000003" . "6f6e65" . "0474657374" . "0000010001");
      my $syn = pack("nnNNnnnn", 4001, 80, 1, 0, 0x5002, 1024, 0, 0);
      for ([17, $udp], [6, $syn]) {
        socket(my $s, 2, 3, 255) or die "raw: $!"; setsockopt($s, 0, 3, 1) or die;
        my $p = pack("C2n3C2na4a4", 0x45, 0, 20 + length $_->[1], 1, 0, 64, $_->[0], 0, $src, $dst) . $_->[1];
        send($s, $p, 0, pack("Sna4x8", 2, 0, $dst)) or die "send: $!";
      }`;
    for (const place of ['198.51.100.53', WORLD.one]) {
      const { exitCode, stderr } = await poor.client.run(`perl -e '${forge}' ${place}`, 'root');
      expect(stderr).toBe('');
      expect(exitCode).toBe(0);
    }
    expect(await get(rich.client, 'http://one.test/')).toBe('200');
    expect(fixture.internet.seen.filter(({ server }) => server !== 'dns')).toHaveLength(1);
    expect(await refused(poor)).toEqual({ 'source address of somebody else': 4 });
    expect(await refused(rich)).toEqual({});
    expect(questions.every((id) => id === rich.instance.id)).toBe(true);
    expect(reports.filter(({ sandboxId, port }) => sandboxId === rich.instance.id && port === 4001)).toEqual(
      [],
    );
  });

  it('is nothing while the egress process is dead, and is there again once it got the policies anew', async () => {
    const made = await make('governed', OPEN);
    const count = 100;
    const script = `for i in $(seq ${count}); do (curl -s -m 60 -o /dev/null http://${WORLD.one}/slow && echo whole || echo ended) & done; wait`;
    const transfers = await made.client.start(script);
    await vi.waitFor(
      () =>
        expect(fixture.internet.seen.filter(({ url }) => url === '/slow').length).toBeGreaterThanOrEqual(
          count,
        ),
      { timeout: 100_000 },
    );
    const [first] = egressProcesses(fixture.process.pid!);
    const lost = control.closed;
    process.kill(first!, 'SIGKILL');
    await lost;
    expect((await transfers.result).stdout).toBe('ended\n'.repeat(count));
    // It knows nothing yet, so nothing passes.
    expect(await reaches(made.client)).toBe(false);
    control = await rule();
    await govern(made, OPEN);
    await vi.waitFor(async () => expect(await reaches(made.client)).toBe(true), { timeout: 100_000 });
    const [second] = egressProcesses(fixture.process.pid!);
    expect(second).not.toBe(first);
    expect(fixture.log.some((line) => line.includes('the egress process ended'))).toBe(true);
  });

  it('is decided by a process that has nothing to lose', async () => {
    const [pid] = egressProcesses(fixture.process.pid!);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    expect(status).toMatch(/^CapPrm:\t0+$/m);
    expect(status).toMatch(/^CapBnd:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^Seccomp:\t2$/m);
    expect(status).toMatch(/^Uid:\t(?!0\t)(\d+)\t\1\t\1\t\1$/m);
    expect(status).toMatch(/^NSpid:\t\d+\t1$/m);
    expect(readdirSync(`/proc/${pid}/root`).sort()).toEqual(['agent', 'dev', 'old', 'proc', 'program']);
    expect(readdirSync(`/proc/${pid}/root/old`)).toEqual([]);
    const outside = ['root', 'etc', 'run', 'tmp', 'usr', fixture.bench.dataDir];
    for (const path of outside) expect(existsSync(join(`/proc/${pid}/root`, path)), path).toBe(false);
  });

  it('is decided by a process that gets a share of the machine, and goes before the service when memory is short', () => {
    const [pid] = egressProcesses(fixture.process.pid!);
    const own = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8');
    const limit = (controller: string, v1: string, v2: string) => {
      const line = own.split('\n').find((each) => each.split(':')[1]!.split(',').includes(controller));
      const path = (line ?? own.split('\n').find((each) => each.startsWith('0::')))!
        .split(':')
        .slice(2)
        .join(':');
      expect(path).toMatch(/^\/svc-[0-9a-f]{8}-egress\/process$/);
      const point = mounts
        .split('\n')
        .find((each) =>
          line === undefined
            ? / - cgroup2 /.test(each)
            : new RegExp(` - cgroup .*\\b${controller}\\b`).test(each),
        )!
        .split(' ')[4]!;
      return readFileSync(join(point, path, line === undefined ? v2 : v1), 'utf8').trim();
    };
    const memory = Number(limit('memory', 'memory.limit_in_bytes', 'memory.max'));
    expect(memory).toBeGreaterThanOrEqual(384 * 2 ** 20);
    expect(memory).toBeLessThanOrEqual(1_536 * 2 ** 20);
    expect(Number(limit('pids', 'pids.max', 'pids.max'))).toBe(64);
    expect(limit('cpu', 'cpu.cfs_quota_us', 'cpu.max')).toMatch(/^[1-9]\d+( 100000)?$/);
    expect(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim()).toBe('500');
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    expect(words).toContain(String(memory / 2 ** 20));
  });

  it('is answered for others while one makes connections as fast as it can, which wait for their turn', async () => {
    const hostile = await make('governed', OPEN);
    const other = await make('governed', OPEN);
    const flood = `import socket, threading, time
end = time.time() + 6
def go():
    while time.time() < end:
        try:
            s = socket.create_connection(("${WORLD.one}", 80), 5); s.sendall(b"GET /flood HTTP/1.1\\r\\nHost: one.test\\r\\nConnection: close\\r\\n\\r\\n"); s.recv(100); s.close()
        except OSError: pass
threads = [threading.Thread(target=go) for _ in range(64)]
[t.start() for t in threads]; [t.join() for t in threads]`;
    const startedMs = performance.now();
    const running = hostile.client.run(`python3 -c '${flood}'`, 'root');
    const count = () => fixture.internet.seen.filter(({ url }) => url === '/flood').length;
    await vi.waitFor(() => expect(count()).toBeGreaterThan(100), { timeout: 100_000 });
    const answered = await other.client.run(
      `for i in $(seq 20); do curl -s -m 10 -o /dev/null -w '%{http_code}\\n' http://${WORLD.one}/; done`,
      'root',
    );
    expect(answered.stdout).toBe('200\n'.repeat(20));
    await running;
    const seconds = (performance.now() - startedMs) / 1_000;
    expect(count()).toBeLessThan(1_000 + 1_200 * seconds + 100);
  });

  it('survives the driver: none is left over, and sandboxes are governed again by the next', async () => {
    const made = await make('governed', OPEN);
    const { id, address } = made.instance;
    const [before] = egressProcesses(fixture.process.pid!);
    const ended = once(fixture.process, 'exit');
    fixture.process.kill('SIGKILL');
    await ended;
    await vi.waitFor(() => expect(existsSync(`/proc/${before}`)).toBe(false), { timeout: 100_000 });
    await fixture.bench.open();
    const adopted = (await fixture.bench.driver.adopt(id))!;
    expect(adopted.address).toBe(address);
    const again = { instance: adopted, client: new DaemonClient(adopted) };
    expect(await reaches(again.client)).toBe(false);
    control = await rule();
    await govern(again, ONLY_ONE);
    await table(again.client, { 'http://one.test/': '200', 'http://two.test/': 'no' });
    expect(egressProcesses(fixture.process.pid!)).toHaveLength(1);
  });

  async function reaches(client: DaemonClient): Promise<boolean> {
    return (await get(client, `http://${WORLD.one}/`)) === '200';
  }
});

/** A repository, a package index and an archive, as files that any web server can serve. */
function serveFiles(files: string): void {
  const run = (script: string) =>
    execFileSync('sh', ['-ec', script], { cwd: files, stdio: ['ignore', 'ignore', 'pipe'] });
  run(`git init -q work && cd work && echo hello > file && git add file
    git -c user.name=n -c user.email=e@one.test commit -qm first
    git clone -q --bare . ../repo.git && cd ../repo.git && git update-server-info`);
  run(`mkdir -p simple/tiny apt && cd simple/tiny
    python3 - <<'PY'
import zipfile
with zipfile.ZipFile('tiny-1.0-py3-none-any.whl', 'w') as w:
    w.writestr('tiny.py', '')
    w.writestr('tiny-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n')
    w.writestr('tiny-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    w.writestr('tiny-1.0.dist-info/RECORD', '')
PY
    echo '<a href="tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>' > index.html`);
  const packages = `${['Package: tiny', 'Version: 1', 'Architecture: all', 'Maintainer: n <e@one.test>', 'Filename: ./tiny.deb', 'Size: 1', `SHA256: ${'0'.repeat(64)}`, 'Description: tiny'].join('\n')}\n`;
  writeFileSync(join(files, 'apt', 'Packages'), packages);
  const hash = createHash('sha256').update(packages).digest('hex');
  const date = new Date().toUTCString().replace('GMT', '+0000');
  writeFileSync(
    join(files, 'apt', 'Release'),
    `Date: ${date}\nSHA256:\n ${hash} ${packages.length} Packages\n`,
  );
}
