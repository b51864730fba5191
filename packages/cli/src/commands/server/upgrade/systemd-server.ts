import { get as getPlain } from 'node:http';
import { get as getEncrypted } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerOptions } from '@svc/server';
import { CliError } from '../../../errors/cli-error.js';
import { type Addresses, type ControlRecord, environmentOf, type ServerControl } from './control.js';
import { runProgram } from './run-program.js';

type SystemdRecord = Extract<ControlRecord, { kind: 'systemd' }>;

/** The part of systemd that is needed, so that it can be tried without one. */
export interface Systemd {
  /** Runs `systemctl` with these words, and gives what it wrote. */
  systemctl(...words: string[]): Promise<string>;
  environmentOf(pid: number): Promise<Record<string, string>>;
  /** Waits until a server answers. @throws {CliError} when it does not */
  waitUntilReady(apiUrl: string, isUp: () => Promise<boolean>): Promise<void>;
  /** Options of a server with such an environment. */
  loadOptions(env: Record<string, string>): Promise<Omit<ServerOptions, 'dataDir'> & { dataDir: string }>;
}

export const realSystemd: Systemd = {
  systemctl: (...words) => runProgram('systemctl', words, { timeoutMs: 180_000 }),
  environmentOf,
  waitUntilReady,
  loadOptions: async (env) => (await import('@svc/server')).loadConfig({ env }),
};

const SERVER = 'svc.service';
const RUNTIME = 'svc-runtime.service';

/** The server of a data directory, where the units of systemd run it. */
export async function findSystemd(dataDir: string, systemd: Systemd): Promise<SystemdRecord | undefined> {
  const state = await stateOf(SERVER, systemd);
  if (state.pid === 0) return undefined;
  const options = await systemd.loadOptions(await systemd.environmentOf(state.pid));
  return options.dataDir === dataDir ? { kind: 'systemd', ...addressesOf(options) } : undefined;
}

/** A server that the units `svc` and `svc-runtime` run. */
export function systemdServer(record: SystemdRecord, systemd: Systemd): ServerControl {
  const isUp = async () => {
    const { active } = await stateOf(SERVER, systemd);
    return active === 'active' || active === 'activating' || active === 'reloading';
  };
  return {
    what: `systemd: ${SERVER} and ${RUNTIME}`,
    isRunning: isUp,
    async stop() {
      await systemd.systemctl('stop', SERVER, RUNTIME);
    },
    async start() {
      await systemd.systemctl('daemon-reload');
      // One that failed too often is not tried again otherwise.
      await systemd.systemctl('reset-failed', SERVER, RUNTIME);
      await systemd.systemctl('start', RUNTIME, SERVER);
      await systemd.waitUntilReady(record.apiUrl, isUp).catch((error: Error) => {
        throw new CliError(error.message, {
          code: 'upgrade',
          hint: `journalctl -u ${SERVER} -u ${RUNTIME} shows the reason.`,
        });
      });
      const { kind: _, ...addresses } = record;
      return addresses;
    },
  };
}

async function stateOf(unit: string, systemd: Systemd): Promise<{ active: string; pid: number }> {
  const text = await systemd.systemctl('show', '--property=ActiveState,MainPID', unit);
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? '';
  return { active: value('ActiveState'), pid: Number(value('MainPID')) };
}

/** Where a server with these options can be asked on its own machine. Pure. */
export function addressesOf(options: Omit<ServerOptions, 'dataDir'>): Addresses {
  const { host = '127.0.0.1', apiPort = 3000, operatorPort = 3003, tls } = options;
  const local = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const at = local.includes(':') ? `[${local}]` : local;
  return {
    apiUrl: `${tls?.certificate === undefined ? 'http' : 'https'}://${at}:${apiPort}`,
    ...(operatorPort === false ? {} : { operatorUrl: `http://${at}:${operatorPort}` }),
  };
}

/** A server with many sandboxes, on a slow disk, takes that long. */
const LIMIT_MS = 300_000;
const LOOK_MS = 250;

/**
 * Waits until the platform API of this machine answers that it is healthy.
 * @param isUp whether its process still runs, or is about to
 * @throws {CliError} when it ended, or does not answer within five minutes
 */
async function waitUntilReady(apiUrl: string, isUp: () => Promise<boolean>): Promise<void> {
  for (const since = performance.now(); ; await sleep(LOOK_MS)) {
    if (await isHealthy(`${apiUrl}/health`)) return;
    if (!(await isUp())) throw new CliError('The server ended instead of getting up.', { code: 'upgrade' });
    if (performance.now() - since > LIMIT_MS)
      throw new CliError(`The server did not answer on ${apiUrl} within ${LIMIT_MS / 1000} s.`, {
        code: 'upgrade',
      });
  }
}

function isHealthy(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const answered = (response: { statusCode?: number | undefined; resume(): unknown }) => {
      response.resume();
      resolve(response.statusCode !== undefined && response.statusCode < 300);
    };
    // A certificate is for the server's public name, and no secret is sent to the one who answers.
    const request = url.startsWith('https:')
      ? getEncrypted(url, { rejectUnauthorized: false, timeout: 5_000 }, answered)
      : getPlain(url, { timeout: 5_000 }, answered);
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}
