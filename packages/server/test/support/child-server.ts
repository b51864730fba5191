import { type ChildProcess, spawn } from 'node:child_process';
import { childProgram } from '@svc/support/testing/child-program';

const main = childProgram(new URL('../../src/main.ts', import.meta.url));

/** As of the tests in this process: the template base may not be built on this machine. */
export const BASE_ROOT = process.env.SVC_BASE_ROOT ?? 'host';

/** Options of a child server: any ports, and a log of problems alone. */
export function childEnvironment(
  dataDir: string,
  driver: 'linux' | 'process' | 'incus',
): Record<string, string> {
  return {
    SVC_DATA_DIR: dataDir,
    SVC_DRIVER: driver,
    SVC_API_PORT: '0',
    SVC_SANDBOX_PORT: '0',
    SVC_OPERATOR_PORT: '0',
    SVC_LOG_LEVEL: 'error',
    SVC_BASE_ROOT: BASE_ROOT,
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

/**
 * Starts the server's program in a process that can be killed.
 * @param options.before code that runs before it, such as a fault
 * @param options.within a command that runs it
 */
export async function startChildServer(
  env: Record<string, string>,
  { before = '', within = [] }: { before?: string; within?: string[] } = {},
): Promise<ChildServer> {
  const fault = ['--import', `data:text/javascript,${encodeURIComponent(before)}`];
  const [program, ...args] = [...within, process.execPath, ...main.options, ...fault, main.file];
  const child = spawn(program!, args, {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let stderr = '';
  child.stderr!.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('ready\n')) resolve();
    });
    // Not `exit`: what it said last may come after that.
    child.once('close', (code) => reject(new Error(`the server ended with ${code}: ${stderr}`)));
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
