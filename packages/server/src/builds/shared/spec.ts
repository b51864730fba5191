import type { InstanceSpec } from '@svc/runtime';
import type { Uses } from '../../context/context.js';
import { poolableSpec } from '../../sandboxes/instance-spec.js';
import type { BuildRow } from '../../templates/wire.js';

/** The instance in which a build works: as large as its sandboxes will be. */
export function buildSpec({ config }: Uses<'config'>, build: BuildRow, layers: string[]): InstanceSpec {
  return {
    ...poolableSpec(build, layers, config.templateIsolation[build.template_id]),
    labels: { buildId: build.id, teamId: build.team_id },
  };
}
