import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { makeCertificates } from './certificates.js';
import { INWARD_PROGRAM, RELAY_PROGRAM, WORLD_PROGRAM } from './programs.js';

/** Addresses of the fake internet. They look public, and lead nowhere but to the world's own servers. */
export const WORLD = {
  /** HTTP on 80 and 8080, HTTPS on 443 and 8443, and an echo on 7. */
  one: '93.184.216.34',
  two: '93.184.216.35',
  other: '151.101.1.69',
  /** A SOCKS5 proxy on 1080, and one that is spoken to by TLS on 1081. */
  proxy: '185.199.108.7',
  /** Answers names of {@link NAMES} on port 53, by UDP and TCP. */
  resolver: '9.9.9.10',
  /** A private address behind the internet's side, as a mirror of packages may have one. */
  mirror: '10.77.0.80',
} as const;

/** The answers of the world's resolver. */
export const NAMES: Readonly<Record<string, string>> = {
  'one.test': WORLD.one,
  'api.one.test': WORLD.one,
  'two.test': WORLD.two,
  'other.test': WORLD.other,
  'mirror.test': WORLD.mirror,
  'proxy.test': WORLD.proxy,
  /** Answers of hostile zones. */
  'metadata.test': '169.254.169.254',
  'loopback.test': '127.0.0.1',
};

export const PROXY_USER = { username: 'proxy-user', password: 'proxy-password' };

/** One thing that a server of the world saw. */
export interface Seen {
  server: 'http' | 'https' | 'socks' | 'dns';
  [field: string]: unknown;
}

export interface FakeInternet {
  /** The certificate (PEM) that signed those of the world's HTTPS servers. */
  readonly ca: string;
  /** A temporary directory that goes with it. */
  readonly directory: string;
  /** Files below it are served by HTTP and HTTPS at `/files/`. */
  readonly files: string;
  /** The command line of one that runs where the driver has to run: behind it there is nothing but the fake internet. */
  inside(command: readonly string[]): string[];
  /** The same in the world itself. */
  outside(command: readonly string[]): string[];
  /** Connects from where the driver runs. */
  dial(host: string, port: number): Promise<Socket>;
  /** A port on this process's loopback that leads to one where the driver runs. */
  forward(port: number, host?: string): Promise<number>;
  /** A port on the loopback of where the driver runs that leads to one of this process's loopback. */
  lend(port: number): Promise<number>;
  /** The requests that the servers saw so far: also one that has just been answered, for they write it down before they answer. */
  readonly seen: readonly Seen[];
  forget(): void;
  close(): Promise<void>;
}

const PATH = '/usr/sbin:/sbin:/usr/bin:/bin';

/**
 * Makes two network namespaces: one for a driver (or a whole server), whose default route leads to the other, which has
 * servers on public addresses. No packet leaves this machine, and nothing of the host's network is touched. Needs root.
 */
export async function startFakeInternet(): Promise<FakeInternet> {
  const directory = mkdtempSync(join(tmpdir(), 'internet-'));
  const children: ChildProcess[] = [];
  const servers: Server[] = [];
  const seen = new SeenFile(join(directory, 'seen'));
  const close = async () => {
    for (const server of servers) server.close();
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')));
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    const here = await makeNamespace(children);
    const there = await makeNamespace(children);
    joinNamespaces(here, there);
    const ca = makeCertificates(directory, Object.keys(NAMES), Object.values(WORLD));
    const socketPath = join(directory, 'relay.sock');
    await start(
      children,
      inNamespace(here, [process.execPath, '-e', RELAY_PROGRAM, socketPath]),
      () => undefined,
    );
    const world = JSON.stringify({ addresses: WORLD, names: NAMES, user: PROXY_USER, directory });
    await start(
      children,
      inNamespace(there, [process.execPath, '-e', WORLD_PROGRAM, world]),
      () => undefined,
    );
    const dial = (host: string, port: number) => dialThrough(socketPath, host, port);
    return {
      ca,
      directory,
      files: join(directory, 'files'),
      get seen() {
        return seen.read();
      },
      forget: () => seen.forget(),
      inside: (command) => inNamespace(here, command),
      outside: (command) => inNamespace(there, command),
      dial,
      forward: async (port, host = '127.0.0.1') => {
        const server = createServer((socket) => {
          socket.on('error', () => undefined);
          dial(host, port).then(
            (far) => {
              far.on('error', () => socket.destroy());
              socket.on('close', () => far.destroy());
              socket.pipe(far).pipe(socket);
            },
            () => socket.destroy(),
          );
        }).listen(0, '127.0.0.1');
        servers.push(server);
        await once(server, 'listening');
        return (server.address() as { port: number }).port;
      },
      lend: async (port) => {
        const path = join(directory, `lent-${port}.sock`);
        const server = createServer({ allowHalfOpen: true }, (near) => {
          const far = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
          near.on('error', () => undefined).on('close', () => far.destroy());
          far.on('error', () => undefined).on('close', () => near.destroy());
          near.pipe(far).pipe(near);
        }).listen(path);
        servers.push(server);
        await once(server, 'listening');
        let lent = 0;
        await start(children, inNamespace(here, [process.execPath, '-e', INWARD_PROGRAM, path]), (line) => {
          lent = Number(line);
        });
        return lent;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Lines that the world appends: they are there before the answer, which no pipe guarantees. */
class SeenFile {
  readonly #path: string;
  #forgotten = 0;

  constructor(path: string) {
    this.#path = path;
    writeFileSync(path, '');
  }

  read(): Seen[] {
    return this.#lines()
      .slice(this.#forgotten)
      .map((line) => JSON.parse(line) as Seen);
  }

  forget(): void {
    this.#forgotten = this.#lines().length;
  }

  #lines(): string[] {
    return readFileSync(this.#path, 'utf8').split('\n').slice(0, -1);
  }
}

/** A process that holds a new network namespace. */
async function makeNamespace(children: ChildProcess[]): Promise<number> {
  const child = spawn('unshare', ['--net', 'sh', '-c', 'echo; exec sleep infinity'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH },
  });
  children.push(child);
  await once(child.stdout, 'data');
  return child.pid!;
}

function inNamespace(pid: number, command: readonly string[]): string[] {
  return ['nsenter', `--net=/proc/${pid}/ns/net`, ...command];
}

/** A veth pair from one to the other, and the public addresses. */
function joinNamespaces(here: number, there: number): void {
  const addresses = Object.values(WORLD).map((address) => `addr add ${address}/32 dev lo`);
  run(inNamespace(here, ['ip', '-batch', '-']), [
    'link set lo up',
    `link add outward type veth peer name host netns ${there}`,
    'addr add 198.41.0.2/30 dev outward',
    'link set outward up',
    'route add default via 198.41.0.1',
  ]);
  run(inNamespace(there, ['ip', '-batch', '-']), [
    'link set lo up',
    ...addresses,
    'addr add 198.41.0.1/30 dev host',
    'link set host up',
  ]);
}

function run([command, ...args]: string[], lines: string[]): void {
  const { status, stderr } = spawnSync(command!, args, { input: `${lines.join('\n')}\n`, env: { PATH } });
  if (status !== 0) throw new Error(`The network of the test cannot be made: ${stderr}`);
}

/** Starts a program and waits until it says that it is ready; further lines go to `onLine`. */
async function start(
  children: ChildProcess[],
  [command, ...args]: string[],
  onLine: (line: string) => void,
): Promise<void> {
  const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { PATH } });
  children.push(child);
  await new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`A program of the fake internet ended with ${code}.`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'ready') resolve();
      else onLine(line);
    });
  });
}

function dialThrough(socketPath: string, host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`${host}:${port} cannot be reached.`)));
    socket.write(`${host} ${port}\n`);
    socket.once('data', (data: Buffer) => {
      // The relay says one byte when it is connected.
      if (data.length > 1) socket.unshift(data.subarray(1));
      socket.removeAllListeners('close');
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
