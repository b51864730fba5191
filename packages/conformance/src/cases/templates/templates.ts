import { casesOf, check, type Draft } from '../../case.js';
import { unknownIds } from '../../requests/samples.js';
import { assertFailure, call, callFails, callOk } from '../../wire/call.js';
import { buildCases } from './builds.js';
import { archiveOf, create, idsOf, needs, upload } from './calls.js';
import { templateListCases } from './lists.js';
import { publishingCases } from './publishing.js';
import { tagCases } from './tags.js';

/** Status and logs of a build. */
const buildStatusCases: Draft[] = ['getTemplateBuildStatus', 'getTemplateBuildLogs'].map((operation) =>
  check(
    `${operation} distinguishes an unknown build from a bad query`,
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

/** Files for COPY steps. */
const uploadCases: Draft[] = [
  check(
    'uploads need a sound link and a sound archive',
    ['uploadTemplateFiles', '400', { needs }],
    async (target) => {
      const { templateID } = await create(target);
      const { token } = await upload(target, templateID);
      const put = (body: Buffer, to = token) =>
        call(target, 'uploadTemplateFiles', { path: { token: to }, body, key: null });
      assertFailure(await put(Buffer.from('not an archive')), { status: 400 });
      assertFailure(await put(archiveOf('x', 'x'), `${token.slice(0, -4)}AAAA`), { status: 403 });
      assertFailure(await put(archiveOf('x', 'x'), 'nonsense'), { status: 403 });
      for (const hash of ['short', 'A'.repeat(64)])
        await callFails(target, 'getTemplateFilesLink', 400, { path: { templateID, hash } });
      await callOk(target, 'deleteTemplate', 204, { path: { templateID } });
      assertFailure(await put(archiveOf('x', 'x')), { status: 404 });
    },
  ),
  check(
    'an upload that is too large gives 413',
    ['uploadTemplateFiles', '413', { needs: ['templates', 'servers'] }],
    async (target) => {
      const server = await target.server('small');
      const { templateID } = await create(server);
      const { token } = await upload(server, templateID);
      await callFails(server, 'uploadTemplateFiles', 413, {
        path: { token },
        body: Buffer.alloc(10_000, 1),
        key: null,
      });
    },
  ),
];

/** Templates, builds and tags. */
export const templateCases = casesOf('templates', [
  ...buildCases,
  ...templateListCases,
  ...publishingCases,
  ...tagCases,
  ...uploadCases,
  ...buildStatusCases,
]);
