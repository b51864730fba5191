import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import type { DaemonClient } from '../../src/testing/daemon-client.js';
import { Workbench } from '../../src/testing/workbench.js';
import { gvisorDriver } from '../support/gvisor-host.js';
import { gvisorSkipReason } from '../support/linux-host.js';

const skip = gvisorSkipReason();

/** The part that has to work for everybody who changes the driver; the whole suites run with `SVC_GVISOR=1`. */
describe.skipIf(skip !== undefined)(`sandboxes on gVisor's kernel ${skip ?? ''}`, () => {
  const bench = new Workbench((options) => gvisorDriver(options));
  beforeAll(() => bench.open());
  afterEach(() => bench.sweep());
  afterAll(async () => {
    await bench.close();
    await bench.remove();
  });

  it('have a kernel of their own, their own amount of memory, and files on their own disk', async () => {
    expect(bench.driver.capabilities).toMatchObject({
      isolation: 'gvisor',
      memorySnapshot: true,
      limits: true,
    });
    expect(bench.driver.summary).toContain('gVisor');
    const { client } = await bench.create({ limits: { memoryMiB: 256 } });
    expect(await client.output('cat /proc/version')).toMatch(/^Linux version 4\.4\.0/);
    expect(await client.output('sed -n "s/^MemTotal: *//p" /proc/meminfo')).toBe('262144 kB');
    const mounted = await client.output('cut -d " " -f 2,3 /proc/mounts');
    expect(mounted.split('\n')).not.toContain('/tmp tmpfs');
  });

  it.each(['gvisor', 'container'] as const)(
    'come out of the pool, named inside too: %s',
    async (isolation) => {
      const fields = { limits: { memoryMiB: 192 }, isolation };
      bench.driver.setPool([{ spec: bench.spec(fields), size: 1 }]);
      await bench.driver.poolReady();
      const before = await bench.driver.poolState();
      expect(before.waiting).toBe(1);
      const { instance, client } = await bench.create(fields);
      expect(await bench.driver.poolState()).toMatchObject({ hits: before.hits + 1, misses: before.misses });
      expect(instance.isolation).toBe(isolation);
      expect(await client.output('hostname; sed -n "1s/.* //p" /etc/hosts; cat /etc/hostname')).toBe(
        `${instance.id}\n${instance.id}\n${instance.id}`,
      );
    },
  );

  it('stop where they are and continue, and copies of their files have a name of their own', async () => {
    const { instance, client } = await bench.create();
    await client.output('echo shared > note; echo kept > /tmp/note');
    await instance.freeze();
    expect((await bench.driver.list())[0]?.state).toBe('frozen');
    await instance.thaw();
    await instance.checkpoint({ checkpointId: 'files', memory: false, then: 'continue' });
    await client.output('echo changed > note');
    const copy = await bench.restore('files', false);
    expect(await copy.client.output('cat note /tmp/note; hostname')).toBe(
      `shared\nkept\n${copy.instance.id}`,
    );
  });

  it('find connections of the network cut off in copies, which spin over none of them', async () => {
    const { instance, client } = await bench.create();
    await client.output(`cat > /tmp/wait.py <<'END'\n${WAITS_WITH_EPOLL}END`);
    await client.start('exec python3 /tmp/wait.py > /tmp/seen 2>&1');
    const seen = (of: typeof client, lines: number) =>
      eventually(`line ${lines} of the program`, async () => {
        const found = (await of.output('cat /tmp/seen')).split('\n').filter((line) => line !== '');
        return found.length >= lines ? found : undefined;
      });
    expect(await seen(client, 1)).toEqual(['connected']);
    await instance.checkpoint({ checkpointId: 'waiting', memory: true, then: 'destroy' });
    const copy = await bench.restore('waiting', true);
    const cut = 'Software caused connection abort';
    expect(await seen(copy.client, 3)).toEqual(['connected', cut, cut]);
    await copy.instance.checkpoint({ checkpointId: 'later', memory: true, then: 'destroy' });
    const later = await bench.restore('later', true);
    expect(await eventsOf(later.client)).toBe('0');
    // It has the addresses of what it is a copy of beside its own, for sockets that are bound to them, and speaks from its own.
    const speak =
      'import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.connect(("192.0.2.1", 9)); print(s.getsockname()[0])';
    expect(await later.client.output(`python3 -c '${speak}'`)).toBe(later.instance.address);
  });

  it('stand beside containers where a specification asks for one, and memory resumes in no other', async () => {
    const { instance, client } = await bench.create({ isolation: 'container' });
    expect(instance.isolation).toBe('container');
    expect(await client.output('cat /proc/version')).toBe(readFileSync('/proc/version', 'utf8').trim());
    const own = await bench.create();
    expect(own.instance.isolation).toBe('gvisor');
    await own.instance.checkpoint({ checkpointId: 'own', memory: true, then: 'destroy' });
    const restore = (memory: boolean) =>
      bench.driver.restore({
        id: `cold${memory}`,
        checkpointId: 'own',
        memory,
        spec: bench.spec({ isolation: 'container' }),
      });
    await expect(restore(true)).rejects.toMatchObject({ code: 'unsupported' });
    expect((await restore(false)).isolation).toBe('container');
  });

  it('make no devices in volumes, and gain nothing from set-user-id files', async () => {
    await bench.driver.volumes.make('data');
    const { client } = await bench.create({ mounts: [{ volumeId: 'data', target: '/data' }] });
    await client.run('cp /usr/bin/id /data/id; chown 0:0 /data/id; chmod 6755 /data/id', 'root');
    expect(await client.output('/data/id -u')).toBe('1000');
    for (const device of ['b 254 0', 'c 1 1'])
      expect((await client.run(`mknod /data/device ${device}`, 'root')).exitCode).not.toBe(0);
    await bench.driver.reap({ instanceIds: [], checkpointIds: [] });
    await bench.driver.volumes.delete('data');
  });
});

/**
 * Holds both ends of a connection over the network with itself, as the stack has it, and waits for them with epoll until
 * they ended. A line of its input asks how many events there are then.
 */
const WAITS_WITH_EPOLL = `import os, select, socket
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); probe.connect(("192.0.2.1", 9)); own = probe.getsockname()[0]
listening = socket.create_server((own, 8080)); poll = select.epoll()
ends = {end.fileno(): end for end in (socket.create_connection((own, 8080)), listening.accept()[0])}
for number in ends: poll.register(number, select.EPOLLIN)
print("connected", flush=True)
while ends:
    for number, _ in poll.poll():
        try: ends[number].recv(1)
        except OSError as error: print(error.strerror, flush=True)
        poll.unregister(number); ends.pop(number).close()
os.mkfifo("/tmp/ask")
while True:
    with open("/tmp/ask") as ask: ask.read()
    with open("/tmp/answer", "w") as answer: answer.write(str(len(poll.poll(0.2))))
`;

async function eventsOf(client: DaemonClient): Promise<string> {
  await client.output('until [ -p /tmp/ask ]; do :; done; echo > /tmp/ask');
  return eventually(
    'the program to answer',
    async () => (await client.output('cat /tmp/answer 2>/dev/null || :')) || undefined,
  );
}
