import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import type { Instance } from '../../contract/instance.js';
import type { DaemonClient } from '../daemon-client.js';
import { type TarTestEntry, tarBytes, tarOfEntries } from '../tar.js';
import type { Workbench } from '../workbench.js';
import { type Outside, SECRET } from './outside.js';

const DAEMON_PORT = 49_983;
/** Tries of each operation against each race. */
const TRIES = Number(process.env.SVC_ESCAPE_TRIES ?? (process.env.SVC_HEAVY ? 20_000 : 200));
/** Requests at a time. */
const WORKERS = 8;

/** Programs that repeat a change inside, in `$ARGV[0]`, aiming at `$ARGV[1]` of the host. Perl. */
const RACES: [string, string][] = [
  [
    'links in the place of directories',
    'mkdir "d"; rename "d", "k"; symlink $out, "d"; unlink "d"; rename "k", "d";',
  ],
  [
    'links in the place of files',
    'mkdir "d"; open my $h, ">", "t"; close $h; rename "t", "d/secret"; symlink "$out/secret", "s"; rename "s", "d/secret";',
  ],
  [
    'links through the roots of processes',
    'mkdir "d"; rename "d", "k"; symlink "/proc/1/root$out", "d"; unlink "d"; symlink "/proc/self/root/../../..$out", "d"; unlink "d"; rename "k", "d";',
  ],
  [
    'hard links and directories that move',
    'mkdir "d"; mkdir "x"; open my $h, ">", "own"; close $h; link "own", "d/secret"; rename "d", "x/d"; symlink $out, "d"; unlink "d"; rename "x/d", "d"; unlink "d/secret";',
  ],
];

/** Starts such a program as root inside, and waits until it races. */
async function race(client: DaemonClient, body: string, directory: string, out: string) {
  const program = `chdir $ARGV[0] or die; my $out = $ARGV[1]; $| = 1; print "racing"; for (;;) { ${body} }`;
  const racing = await client.start(
    `mkdir -p ${directory}; perl -e '${program}' ${directory} ${out}`,
    'root',
  );
  await eventually('the program to race', () => racing.stdout() === 'racing');
  return racing;
}

interface Asked {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

/** Sends requests to the daemon, several at a time over connections that are used again; gives everything that came. */
async function askAll(instance: Instance, asked: Asked[]): Promise<string> {
  const agent = new Agent({ keepAlive: true, maxSockets: WORKERS });
  Object.assign(agent, {
    createConnection: (_: unknown, done: (error: Error | null, socket?: Duplex) => void) => {
      instance.dial(DAEMON_PORT).then((socket) => done(null, socket), done);
    },
  });
  let text = '';
  let answered = 0;
  const one = ({ body, ...options }: Asked) =>
    new Promise<void>((resolve) => {
      const sent = request({ ...options, host: 'daemon', agent }, (response) => {
        answered += 1;
        response.setEncoding('latin1').on('data', (chunk: string) => {
          text += chunk;
        });
        response.once('close', resolve);
      });
      sent.setTimeout(30_000, () => sent.destroy());
      // A connection that the daemon closed after a failure.
      sent.once('error', () => resolve());
      sent.end(body);
    });
  let next = 0;
  const work = async () => {
    while (next < asked.length) await one(asked[next++]!);
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  agent.destroy();
  expect(answered).toBeGreaterThan(asked.length / 2);
  return text;
}

const get = (path: string): Asked => ({ method: 'GET', path: `/files?path=${path}&username=root` });
const put = (path: string): Asked => ({
  method: 'POST',
  path: `/files?path=${path}&username=root`,
  headers: { 'Content-Type': 'application/octet-stream' },
  body: 'planted',
});
const call = (method: string, message: object): Asked => ({
  method: 'POST',
  path: `/filesystem.Filesystem/${method}`,
  headers: {
    'Content-Type': 'application/json',
    'Connect-Protocol-Version': '1',
    Authorization: 'Basic cm9vdDo=',
  },
  body: JSON.stringify(message),
});

/**
 * Races between a program inside and everything that walks the same paths: the daemon's file routes, the unpacking of COPY,
 * layers and checkpoints. Nothing of the host may be read, changed or deleted in any of thousands of tries.
 */
export function raceEscapes(bench: Workbench, outside: Outside): void {
  describe('a program that swaps what is worked on', () => {
    it.each(RACES)(
      `gets nothing of the host through the files of its sandbox, ${TRIES} tries: %s`,
      async (_, body) => {
        const path = await outside.make();
        const { instance, client } = await bench.create();
        const racing = await race(client, body, '/home/user/race', path);
        const kinds = [
          get('/home/user/race/d/secret'),
          put('/home/user/race/d/secret'),
          put('/home/user/race/d/planted'),
          get(`/home/user/race/d/../..${path}/secret`),
          call('Stat', { path: '/home/user/race/d/secret' }),
          call('ListDir', { path: '/home/user/race/d', depth: 2 }),
          call('Move', { source: '/home/user/race/d/secret', destination: '/home/user/stolen' }),
          call('Remove', { path: '/home/user/race/d' }),
        ];
        const requests = Array.from({ length: TRIES }, (__, at) => kinds[at % kinds.length]!);
        expect(await askAll(instance, requests)).not.toContain(SECRET);
        expect((await client.run('cat /home/user/stolen', 'root')).stdout).not.toContain(SECRET);
        racing.leave();
        await outside.expectUntouched();
        await instance.destroy();
        await outside.expectUntouched();
      },
      3_000_000,
    );

    it(`gets nothing of the host while COPY unpacks, ${TRIES} entries`, async () => {
      const path = await outside.make();
      const { instance, client } = await bench.create();
      // As a step of a build does it: root unpacks an archive where programs of earlier steps still run.
      const entries = Array.from({ length: TRIES }, (_, at): TarTestEntry => {
        const name = ['d/secret', 'd/planted', 'd', 'd/bin/secret', 'k/secret'][at % 5]!;
        return at % 5 === 2 ? { name, type: 'directory', mode: 0o777 } : { name, content: 'planted' };
      });
      const archive = tarBytes(entries);
      const socket = await instance.dial(DAEMON_PORT, { signal: AbortSignal.timeout(60_000) });
      socket.write(
        `POST /files?path=/root/copy.tar&username=root HTTP/1.1\r\nHost: daemon\r\nConnection: close\r\nContent-Type: application/octet-stream\r\nContent-Length: ${archive.length}\r\n\r\n`,
      );
      socket.write(archive);
      socket.resume();
      await once(socket, 'close');
      for (const [, body] of RACES) {
        const racing = await race(client, body, '/srv/race', path);
        const unpacked = await client.run('tar -x -f /root/copy.tar -C /srv/race 2>&1 | tail -c 300', 'root');
        expect(unpacked.stdout).not.toContain(SECRET);
        racing.leave();
        await client.run('pkill perl', 'root');
      }
      await outside.expectUntouched();
    }, 3_000_000);

    it(`gets nothing of the host by a layer, ${TRIES} entries that go through links of each other`, async () => {
      if (bench.driver.capabilities.layers !== 'rootfs') return;
      const path = await outside.make();
      const up = '../'.repeat(12);
      const entries = Array.from({ length: TRIES / 4 }, (_, at): TarTestEntry[] => {
        const name = `d${at % 50}`;
        const linkname = [path, `${up}${path}`, `/proc/self/root${path}`, `d${(at + 1) % 50}`][at % 4]!;
        return [
          { name, type: 'symlink', linkname },
          { name: `${name}/secret`, content: 'planted' },
          { name: `h${at}`, type: 'link', linkname: `${name}/secret` },
          { name, type: 'directory', mode: 0o755 },
        ];
      }).flat();
      try {
        const { id } = await bench.driver.layers.importTar(tarOfEntries(entries));
        const { client } = await bench.create({ layers: [id] });
        const seen = await client.run('cat /h* /d*/secret 2>/dev/null', 'root');
        expect(seen.stdout).not.toContain(SECRET);
      } catch (error) {
        // To refuse such an archive is as good as to keep it harmless.
        if ((error as { code?: unknown }).code === undefined) throw error;
      }
      await outside.expectUntouched();
    }, 3_000_000);

    it('gets nothing of the host by layers and checkpoints that are made meanwhile', async () => {
      if (bench.driver.capabilities.layers !== 'rootfs') return;
      const path = await outside.make();
      const rounds = Math.ceil(TRIES / 1_000) + 2;
      const { instance, client } = await bench.create();
      for (const [, body] of RACES) await race(client, body, `/srv/${body.length}`, path);
      for (let round = 0; round < rounds; round += 1) {
        const { id } = await instance.commitLayer();
        await bench.driver.layers.delete(id);
        await instance.checkpoint({ checkpointId: `race${round}`, memory: false, then: 'continue' });
        await bench.driver.deleteCheckpoint(`race${round}`);
      }
      await instance.destroy();
      await outside.expectUntouched();
    }, 3_000_000);
  });
}
