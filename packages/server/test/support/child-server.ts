import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const packageDir = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Bundles the server's program from its sources, so that it can be killed without a build of the repository.
 * @param before Code that runs before it, such as a fault.
 */
export async function bundleServer(before = ''): Promise<string> {
  const directory = path.join(packageDir, 'node_modules/.cache');
  await mkdir(directory, { recursive: true });
  const outfile = path.join(
    directory,
    `server-under-test-${process.pid}${before === '' ? '' : '-faulty'}.mjs`,
  );
  await build({
    entryPoints: [path.join(packageDir, 'src/main.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outfile,
    conditions: ['@svc/source'],
    ...(before === '' ? {} : { banner: { js: before } }),
    logLevel: 'error',
    plugins: [
      {
        name: 'only-own-sources',
        setup(plugin) {
          plugin.onResolve({ filter: /^[^./]/ }, ({ path: name }) =>
            /^@svc\/(platform|daemon|runtime)/.test(name) ? undefined : { path: name, external: true },
          );
        },
      },
    ],
  });
  return outfile;
}

/** What a child server is told: any ports, nothing to say unless something is wrong. */
export function childEnvironment(dataDir: string, driver: 'linux' | 'process'): Record<string, string> {
  return {
    SVC_DATA_DIR: dataDir,
    SVC_DRIVER: driver,
    SVC_API_PORT: '0',
    SVC_SANDBOX_PORT: '0',
    SVC_OPERATOR_PORT: '0',
    SVC_LOG_LEVEL: 'error',
  };
}

export interface ChildServer {
  apiUrl: string;
  sandboxUrl: string;
  operatorUrl: string;
  child: ChildProcess;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
  /** Ends it as an operator would. */
  stop(): Promise<void>;
}

export async function startChildServer(program: string, env: Record<string, string>): Promise<ChildServer> {
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let complaints = '';
  child.stderr!.on('data', (chunk: Buffer) => {
    complaints += chunk.toString();
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('ready\n')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${complaints}`)));
  });
  const url = (name: string) => new RegExp(`^${name}\\s+(\\S+)$`, 'm').exec(output)?.[1] ?? '';
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await ended;
  };
  return {
    apiUrl: url('platform API'),
    sandboxUrl: url('sandboxes'),
    operatorUrl: url('operator'),
    child,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  };
}
