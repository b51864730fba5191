import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { daemonProgram } from '@svc/envd';
import type { Driver, Instance } from '@svc/runtime/contract';
import type { LinuxDriverOptions } from '@svc/runtime/linux';
import { connectDriver, type RemoteDriver } from '@svc/runtime/remote';
import { type FakeInternet, startFakeInternet, WORLD, Workbench } from '@svc/runtime/testing';
import { build } from 'esbuild';

const TOKEN = 'token-of-the-fixture';
const PROGRAM = fileURLToPath(new URL('fixtures/linux-driver.ts', import.meta.url));

/** A linux driver in a process of its own, for which the fake internet is the only one. */
export interface EgressFixture {
  readonly internet: FakeInternet;
  readonly bench: Workbench;
  /** The process of the driver that is open. */
  readonly process: ChildProcess;
  /** The log of the driver. */
  readonly log: string[];
  /** Asks the resolver of the fake internet. */
  resolve(query: Uint8Array): Promise<Uint8Array>;
  close(): Promise<void>;
}

export async function openEgressFixture(options: Partial<LinuxDriverOptions> = {}): Promise<EgressFixture> {
  const internet = await startFakeInternet();
  const entry = await bundleEgress(internet.directory);
  const log: string[] = [];
  let child: ChildProcess | undefined;
  const open = async ({ dataDir }: { dataDir: string }): Promise<Driver> => {
    const socketPath = join(dataDir, 'driver.sock');
    const given = JSON.stringify({
      dataDir,
      daemon: daemonProgram,
      egress: { entry },
      storeSizeMiB: 4096,
      ...options,
    });
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
    async resolve(query) {
      const socket = await internet.dial(WORLD.resolver, 53);
      socket.write(Buffer.concat([Buffer.from([query.length >> 8, query.length & 255]), query]));
      const [data] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return data.subarray(2);
    },
    get process() {
      return child!;
    },
    close,
  };
}

/** The egress process of this repository's sources. */
async function bundleEgress(directory: string): Promise<string> {
  const outfile = join(directory, 'egress.cjs');
  await build({
    entryPoints: [fileURLToPath(new URL('../../../egress/src/main.ts', import.meta.url))],
    ...{ outfile, bundle: true, platform: 'node', format: 'cjs', logLevel: 'silent' },
    conditions: ['@svc/source'],
    mainFields: ['module', 'main'],
  });
  return outfile;
}

/** The same driver, whose instances are dialled from where it runs. */
function throughRelay(driver: RemoteDriver, internet: FakeInternet, ended: Promise<unknown>): Driver {
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
