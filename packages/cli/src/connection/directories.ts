import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The user's settings: `$XDG_CONFIG_HOME/svc`, by default `~/.config/svc`. */
export function configDirectory(env: Record<string, string | undefined>): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'svc');
}

/**
 * Where a local server keeps its data by default: `/var/lib/svc` for root, for others `$XDG_STATE_HOME/svc`,
 * by default `~/.local/state/svc`.
 */
export function defaultDataDirectory(env: Record<string, string | undefined>, root: boolean): string {
  if (root) return '/var/lib/svc';
  return join(stateHome(env), 'svc');
}

/** The directory of facts that commands keep for the user from one run to the next: `$XDG_STATE_HOME/svc-cli`, separate from data of a server. */
export function stateDirectory(env: Record<string, string | undefined>): string {
  return join(stateHome(env), 'svc-cli');
}

function stateHome(env: Record<string, string | undefined>): string {
  return env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state');
}

/** Where the server itself keeps its files: a part of the data directory, when its driver has a process of its own. */
export function serverDirectory(dataDir: string): string {
  const part = join(dataDir, 'server');
  return existsSync(part) ? part : dataDir;
}
