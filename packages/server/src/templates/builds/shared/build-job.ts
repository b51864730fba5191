import type { components } from '@svc/platform';
import type { BuildRow } from '../../wire.js';

type StartRequest = components['schemas']['TemplateBuildStartV2'];

/** One step of a build, as it was asked for. */
export type WireStep = components['schemas']['TemplateStep'];

/** One build that was asked for. */
export interface BuildJob {
  build: BuildRow;
  request: StartRequest;
  /** Credentials of the image's registry: in memory only, for the length of the build. */
  registry: components['schemas']['FromImageRegistry'] | undefined;
  /** What `fromTemplate` means. */
  parent: BuildRow | undefined;
}
