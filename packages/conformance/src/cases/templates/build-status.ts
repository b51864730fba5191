import { check, type Draft } from '../../case.js';
import { unknownIds } from '../../requests/samples.js';
import { callFails } from '../../wire/call.js';
import { create, idsOf, needs } from './calls.js';

/** Status and logs of a build. */
export const buildStatusCases: Draft[] = ['getTemplateBuildStatus', 'getTemplateBuildLogs'].map((operation) =>
  check(
    `${operation} tells an unknown build from a bad query`,
    [operation, '404', { needs }],
    async (target) => {
      const made = await create(target);
      const path = { templateID: made.templateID, buildID: unknownIds.buildID };
      await callFails(target, operation, 404, { path });
      const bad = [
        { limit: 101 },
        { limit: -1 },
        { level: 'loud' },
        operation.endsWith('Logs') ? { direction: 'up' } : { logsOffset: -1 },
      ];
      for (const query of bad as Record<string, string>[])
        await callFails(target, operation, 400, { ...idsOf(made), query });
    },
  ),
);
