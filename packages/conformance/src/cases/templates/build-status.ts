import type { Draft } from '../../case.js';
import { unknownIds } from '../../requests/samples.js';
import { assertFailure, call } from '../../wire/call.js';
import { create, idsOf, needs } from './calls.js';

/** Status and logs of a build. */
export const buildStatusCases: Draft[] = ['getTemplateBuildStatus', 'getTemplateBuildLogs'].map(
  (operation): Draft => ({
    name: `${operation} tells an unknown build from a bad query`,
    operation,
    expects: '404',
    needs,
    run: async (target) => {
      const made = await create(target);
      const path = { templateID: made.templateID, buildID: unknownIds.buildID };
      assertFailure(await call(target, operation, { path }), { status: 404 });
      const bad = [
        { limit: 101 },
        { limit: -1 },
        { level: 'loud' },
        operation.endsWith('Logs') ? { direction: 'up' } : { logsOffset: -1 },
      ];
      for (const query of bad as Record<string, string>[])
        assertFailure(await call(target, operation, { ...idsOf(made), query }), { status: 400 });
    },
  }),
);
