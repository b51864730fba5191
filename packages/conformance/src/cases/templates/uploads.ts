import type { Draft } from '../../case.js';
import { assertFailure, assertStatus, call } from '../../wire/call.js';
import { archiveOf, create, needs, upload } from './calls.js';

/** Files for COPY steps. */
export const uploadCases: Draft[] = [
  {
    name: 'uploads need a sound link and a sound archive',
    operation: 'uploadTemplateFiles',
    expects: '400',
    needs,
    run: async (target) => {
      const { templateID } = await create(target);
      const { token } = await upload(target, templateID);
      const put = (body: Buffer, to = token) =>
        call(target, 'uploadTemplateFiles', { path: { token: to }, body, key: null });
      assertFailure(await put(Buffer.from('not an archive')), { status: 400 });
      assertFailure(await put(archiveOf('x', 'x'), `${token.slice(0, -4)}AAAA`), { status: 403 });
      assertFailure(await put(archiveOf('x', 'x'), 'nonsense'), { status: 403 });
      for (const hash of ['short', 'A'.repeat(64)])
        assertFailure(await call(target, 'getTemplateFilesLink', { path: { templateID, hash } }), {
          status: 400,
        });
      assertStatus(await call(target, 'deleteTemplate', { path: { templateID } }), 204);
      assertFailure(await put(archiveOf('x', 'x')), { status: 404 });
    },
  },
  {
    name: 'an upload that is too large gives 413',
    operation: 'uploadTemplateFiles',
    expects: '413',
    needs: ['templates', 'servers'],
    run: async (target) => {
      const server = await target.server('small');
      const { templateID } = await create(server);
      const { token } = await upload(server, templateID);
      assertFailure(
        await call(server, 'uploadTemplateFiles', {
          path: { token },
          body: Buffer.alloc(10_000, 1),
          key: null,
        }),
        { status: 413 },
      );
    },
  },
];
