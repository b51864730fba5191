import { readFile, readlink } from 'node:fs/promises';
import type { ServerStatus } from '@svc/server';

/** The way in which the server that is to be replaced runs, as far as starting the next one needs it. Part of the journal. */
export type ControlRecord =
  /** Nothing runs: what is installed is replaced, and nothing else. */
  | { kind: 'none' }
  /** `svc server up --detach` with these words, in this environment. */
  | { kind: 'background'; arguments: string[]; environment: Record<string, string>; directory: string }
  | ({ kind: 'systemd' } & Addresses);

/** Where a server on this machine answers. */
export interface Addresses {
  apiUrl: string;
  operatorUrl?: string;
}

/** Stops and starts a server. Each may be repeated. */
export interface ServerControl {
  /** For people: what runs. */
  readonly what: string;
  /** Returns true when it runs, or is about to. False where none is to run. */
  isRunning(): Promise<boolean>;
  /** Ends the server; its sandboxes run on. */
  stop(): Promise<void>;
  /** Starts the installed program, and waits until it answers. @returns where; undefined where none is to run */
  start(): Promise<Addresses | undefined>;
}

/** The environment that a process was started with. */
export async function environmentOf(pid: number): Promise<Record<string, string>> {
  const text = await readFile(`/proc/${pid}/environ`, 'utf8');
  return Object.fromEntries(
    text
      .split('\0')
      .filter((entry) => entry.includes('='))
      .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  );
}

export const directoryOf = (pid: number): Promise<string> => readlink(`/proc/${pid}/cwd`);

/** Asks the server for its status; undefined where it cannot be asked. */
export async function askStatus(addresses: Addresses | undefined): Promise<ServerStatus | undefined> {
  if (addresses?.operatorUrl === undefined) return undefined;
  try {
    const response = await fetch(`${addresses.operatorUrl}/status`, { signal: AbortSignal.timeout(10_000) });
    return response.ok ? ((await response.json()) as ServerStatus) : undefined;
  } catch {
    return undefined;
  }
}

/** Where no server runs, none is stopped and none is started. */
export const noServer: ServerControl = {
  what: 'nothing: no server runs',
  isRunning: async () => false,
  stop: async () => undefined,
  start: async () => undefined,
};
