import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Driver, Instance, LinuxDriverOptions } from '../src/index.js';
import { connectDriver, type RemoteDriver } from '../src/remote/connect-driver.js';
import { type PlayedInternet, playInternet } from '../src/testing/internet/played-internet.js';
import { Workbench } from '../src/testing/workbench.js';
import { envdBundle } from './envd-bundle.js';

const TOKEN = 'token-of-the-stage';
const PROGRAM = fileURLToPath(new URL('fixtures/egress-driver.ts', import.meta.url));

/** A linux driver in a process of its own, for which the played internet is the only one. */
export interface EgressStage {
  readonly internet: PlayedInternet;
  readonly bench: Workbench;
  /** The process of the driver that is open. */
  readonly process: ChildProcess;
  /** What the driver logged. */
  readonly log: string[];
  close(): Promise<void>;
}

export async function openEgressStage(options: Partial<LinuxDriverOptions>): Promise<EgressStage> {
  const internet = await playInternet();
  const log: string[] = [];
  let child: ChildProcess | undefined;
  const open = async ({ dataDir }: { dataDir: string }): Promise<Driver> => {
    const socketPath = join(dataDir, 'driver.sock');
    const given = JSON.stringify({ dataDir, daemon: envdBundle, storeSizeMiB: 4096, ...options });
    const node = [process.execPath, ...process.execArgv];
    const [command, ...args] = internet.inside([...node, PROGRAM, socketPath, TOKEN, given]);
    const started = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    child = started;
    const ended = once(started, 'exit');
    const first = String(await Promise.race([once(started.stdout, 'data'), ended]));
    if (first !== 'ready\n') throw new Error(`The driver did not start: ${first}`);
    const driver = await connectDriver({
      socketPath,
      token: TOKEN,
      log: (level, message, fields) => log.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    });
    return throughRelay(driver, internet, ended);
  };
  const bench = new Workbench(open);
  const close = async () => {
    await bench.close().catch(() => child?.kill('SIGKILL'));
    await bench.remove();
    await internet.close();
  };
  try {
    await bench.open();
  } catch (error) {
    child?.kill('SIGKILL');
    await close();
    throw error;
  }
  return {
    internet,
    bench,
    log,
    get process() {
      return child!;
    },
    close,
  };
}

/** The same driver, whose instances are dialled from where it runs. */
function throughRelay(driver: RemoteDriver, internet: PlayedInternet, ended: Promise<unknown>): Driver {
  const wrap = (instance: Instance): Instance =>
    override(instance, {
      dial: (port: number) => {
        const { daemon, hosts } = instance.reach!;
        return port === 49983 ? internet.dial(daemon.host, daemon.port) : internet.dial(hosts[0]!, port);
      },
    });
  return override(driver as Driver, {
    create: async (options: Parameters<Driver['create']>[0]) => wrap(await driver.create(options)),
    restore: async (options: Parameters<Driver['restore']>[0]) => wrap(await driver.restore(options)),
    adopt: async (id: string) => {
      const found = await driver.adopt(id);
      return found === undefined ? undefined : wrap(found);
    },
    close: async (options?: Parameters<Driver['close']>[0]) => {
      await driver.close(options);
      await ended;
    },
  });
}

function override<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(target, {
    get(from, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name) as unknown;
      const value = Reflect.get(from, name, from) as unknown;
      return typeof value === 'function' ? (value.bind(from) as unknown) : value;
    },
  });
}
