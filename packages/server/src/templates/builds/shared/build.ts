import type { components } from '@svc/platform';
import type { InstanceSpec } from '@svc/runtime/contract';
import { poolableSpec } from '../../../sandboxes/start/instance-spec.js';
import type { EncryptedJson } from '../../../storage/json.js';
import type { Uses } from '../../context.js';
import type { BuildRow } from '../../wire.js';

/** The failure of a build, with a text for the user who started it. */
export class BuildError extends Error {
  override readonly name = 'BuildError';
}

type StartRequest = components['schemas']['TemplateBuildStartV2'];

/** One step of a build, as it was asked for. */
export type WireStep = components['schemas']['TemplateStep'];

/** One build that was asked for. */
export interface BuildJob {
  build: BuildRow;
  request: StartRequest;
  /** Credentials of the image's registry: in memory only, for the length of the build. */
  registry: components['schemas']['FromImageRegistry'] | undefined;
  /** The build that `fromTemplate` resolves to. */
  parent: BuildRow | undefined;
}

/** The state of a build, passed from step to step. */
export interface BuildState {
  /** Layers from the lowest up. */
  layers: string[];
  /** Cache key of all steps so far. */
  key: string;
  /** True while cached layers may be used: not after the first layer that was built again. */
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

/** Returns the home of a user of a build, or of the base. */
export function homeOf(user: string): string {
  return user === 'root' ? '/root' : `/home/${user}`;
}

/** The instance in which a build works: as large as its sandboxes will be. */
export function buildSpec({ config }: Uses<'config'>, build: BuildRow, layers: string[]): InstanceSpec {
  return {
    ...poolableSpec(build, layers, config.templateIsolation[build.template_id]),
    labels: { buildId: build.id, teamId: build.team_id },
  };
}
