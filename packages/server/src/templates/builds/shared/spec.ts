import type { InstanceSpec } from '@svc/runtime';
import { poolableSpec } from '../../../sandboxes/start/instance-spec.js';
import type { Uses } from '../../context.js';
import type { BuildRow } from '../../wire.js';

/** The instance in which a build works: as large as its sandboxes will be. */
export function buildSpec({ config }: Uses<'config'>, build: BuildRow, layers: string[]): InstanceSpec {
  return {
    ...poolableSpec(build, layers, config.templateIsolation[build.template_id]),
    labels: { buildId: build.id, teamId: build.team_id },
  };
}
