import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';

/** The browser of this machine; undefined where there is none. */
export const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);

/** Arguments with which tests start it: as root, without a display, and without asking anybody for anything. */
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A browser, and what it can reach. */
export interface TestBrowser extends AsyncDisposable {
  browser: Browser;
  /** Lets pages reach a port of 127.0.0.1. */
  reach(port: number): Promise<void>;
}

/**
 * Starts Chromium in a network of its own, from which pages reach the given ports of 127.0.0.1 and nothing else. In that of the
 * machine it would give up everything that waits for a connection with ERR_NETWORK_CHANGED each time an address comes or goes, which
 * happens whenever tests at its side start a server with sandboxes. Without the right to make a network it uses the machine's.
 */
export async function launchChromium(ports: number[], ...more: string[]): Promise<TestBrowser> {
  if (chromium === undefined)
    throw new Error('There is no Chromium on this machine: apt-get install chromium');
  const { chromium: launcher } = await import('playwright-core');
  const args = [...ARGUMENTS, ...more];
  if (process.getuid?.() !== 0 || spawnSync('unshare', ['--net', 'true']).status !== 0) {
    const browser = await launcher.launch({ executablePath: chromium, args });
    return { browser, reach: async () => undefined, [Symbol.asyncDispose]: () => browser.close() };
  }
  const network = await OwnNetwork.open();
  try {
    for (const port of ports) await network.reach(port);
    const browser = await launcher.launch({
      executablePath: join(import.meta.dirname, 'chromium-in-network.sh'),
      args,
      env: { ...process.env, SVC_TEST_CHROMIUM: chromium, SVC_TEST_NETWORK: network.path },
    });
    return {
      browser,
      reach: (port) => network.reach(port),
      [Symbol.asyncDispose]: async () => {
        await browser.close();
        network.close();
      },
    };
  } catch (error) {
    network.close();
    throw error;
  }
}

/** A network that has a loopback interface alone. Its listeners belong to this process. */
class OwnNetwork {
  readonly #holder: ChildProcess;
  readonly #listeners = new Map<number, Server>();
  readonly #connections = new Set<Socket>();

  private constructor(holder: ChildProcess) {
    this.#holder = holder;
  }

  static async open(): Promise<OwnNetwork> {
    const program = join(import.meta.dirname, 'network-holder.mjs');
    const holder = spawn('unshare', ['--net', process.execPath, program], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const ended = once(holder, 'exit').then(([code]) => {
      throw new Error(`The program that holds the browser's network ended with ${code}.`);
    });
    await Promise.race([once(holder, 'message'), ended]);
    ended.catch(() => undefined);
    return new OwnNetwork(holder);
  }

  get path(): string {
    return `/proc/${this.#holder.pid}/ns/net`;
  }

  async reach(port: number): Promise<void> {
    if (this.#listeners.has(port)) return;
    const answered = once(this.#holder, 'message') as Promise<[string, Server]>;
    this.#holder.send(port);
    const [, listener] = await answered;
    this.#listeners.set(port, listener);
    listener.on('connection', (near) => {
      const far = connect(port, '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#connections.add(from);
        from.pipe(to);
        from.on('error', () => to.destroy());
        from.once('close', () => {
          this.#connections.delete(from);
          to.destroySoon();
        });
      }
    });
  }

  close(): void {
    for (const listener of this.#listeners.values()) listener.close();
    for (const connection of this.#connections) connection.destroy();
    this.#holder.kill('SIGKILL');
  }
}
