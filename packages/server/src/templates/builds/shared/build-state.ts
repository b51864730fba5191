import type { EncryptedJson } from '../../../storage/json.js';

/** The state of a build, passed from step to step. */
export interface BuildState {
  /** Layers from the lowest up. */
  layers: string[];
  /** Cache key of all steps so far. */
  key: string;
  /** Whether cached layers may be used: not after the first layer that was built again. */
  reuse: boolean;
  /** Variables of sandboxes. */
  env: Record<string, string>;
  /** Encrypted variables that were taken over from a snapshot. */
  encryptedEnv: EncryptedJson<Record<string, string>> | null;
  /** Variables of the build alone. */
  args: Record<string, string>;
  user: string;
  /** Null: the home of the user. */
  workdir: string | null;
  startCommand: string | null;
  readyCommand: string | null;
}

export const DEFAULT_USER = 'user';
export const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The processor of this machine, as images call it. */
export const OWN_ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch;

/** Where users live that are made by a build, and those of the base. */
export function homeOf(user: string): string {
  return user === 'root' ? '/root' : `/home/${user}`;
}
