import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { assertStatus } from '../../../wire/call.js';
import { content, make, SAMPLE_BODY } from './calls.js';

/** Files in a volume. */
export const contentCases: Draft[] = [
  check('files go in and come out as they were', ['writeVolumeFile', 'success'], async (target) => {
    const volume = await make(target);
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 253));
    const written = assertStatus<{ path: string; size: number; type: string; mode: number }>(
      await content(
        target,
        volume,
        'writeVolumeFile',
        { path: '/a/b/file.bin', force: true, mode: 0o600 },
        bytes,
      ),
      201,
    );
    assert.equal(written.path, '/a/b/file.bin');
    assert.equal(written.size, bytes.length);
    assert.equal(written.mode & 0o777, 0o600);
    const read = await content(target, volume, 'readVolumeFile', { path: '/a/b/file.bin' });
    assert.ok(read.bytes.equals(bytes));
    assertStatus(
      await content(
        target,
        volume,
        'writeVolumeFile',
        { path: '/a/b/file.bin', force: true },
        Buffer.from('new'),
      ),
      201,
    );
    assert.equal((await content(target, volume, 'readVolumeFile', { path: '/a/b/file.bin' })).text, 'new');
    const changed = assertStatus<{ mode: number }>(
      await content(target, volume, 'updateVolumePath', { path: '/a/b/file.bin' }, { mode: 0o640 }),
      200,
    );
    assert.equal(changed.mode & 0o777, 0o640);
    const stat = assertStatus<{ size: number }>(
      await content(target, volume, 'getVolumePath', { path: '/a/b/file.bin' }),
      200,
    );
    assert.equal(stat.size, 3);
    const names = async (depth: number) =>
      assertStatus<{ path: string }[]>(
        await content(target, volume, 'listVolumeDir', { path: '/', depth }),
        200,
      ).map((one) => one.path);
    assert.deepEqual(await names(1), ['/a']);
    assert.deepEqual(await names(0), ['/a']);
    assert.deepEqual(await names(3), ['/a', '/a/b', '/a/b/file.bin']);
    assertStatus(await content(target, volume, 'createVolumeDir', { path: '/dir' }), 201);
    assertStatus(await content(target, volume, 'createVolumeDir', { path: '/dir', force: true }), 201);
    assertStatus(await content(target, volume, 'deleteVolumePath', { path: '/a' }), 204);
    assert.deepEqual(await names(1), ['/dir']);
  }),
  check(
    'what makes no sense with files is reported by its code',
    ['writeVolumeFile', '400, 404, 409'],
    async (target) => {
      const volume = await make(target);
      const fails = async (
        operation: string,
        query: Record<string, string | number | boolean>,
        status: number,
        code: string,
        body = SAMPLE_BODY[operation],
      ) => {
        const answer = await content(target, volume, operation, query, body);
        const record = assertStatus<{ code: string; message: string }>(answer, status);
        assert.equal(record.code, code, answer.text);
      };
      await content(target, volume, 'writeVolumeFile', { path: '/file' }, Buffer.from('x'));
      await content(target, volume, 'createVolumeDir', { path: '/dir' });
      for (const operation of [
        'getVolumePath',
        'deleteVolumePath',
        'updateVolumePath',
        'listVolumeDir',
        'readVolumeFile',
      ])
        await fails(operation, { path: '/nothing' }, 404, 'path_not_found');
      await fails('writeVolumeFile', { path: '/file' }, 409, 'path_already_exists');
      await fails('createVolumeDir', { path: '/dir' }, 409, 'path_already_exists');
      await fails('writeVolumeFile', { path: '/no/parent' }, 404, 'path_not_found');
      await fails('createVolumeDir', { path: '/no/parent' }, 404, 'path_not_found');
      await fails('deleteVolumePath', { path: '/' }, 400, 'cannot_delete_root');
      await fails('listVolumeDir', { path: '/', depth: 11 }, 400, 'depth_out_of_range');
      assert.equal((await content(target, volume, 'readVolumeFile', { path: '/dir' })).status, 400);
      assert.equal(
        (await content(target, volume, 'writeVolumeFile', { path: '/dir', force: true }, Buffer.from('x')))
          .status,
        400,
      );
      assert.equal((await content(target, volume, 'listVolumeDir', { path: '/file' })).status, 400);
      assert.equal(
        (await content(target, volume, 'createVolumeDir', { path: '/file/below', force: true })).status,
        400,
      );
      assert.equal(
        (await content(target, volume, 'updateVolumePath', { path: '/file' }, { mode: 'rw' })).status,
        400,
      );
      assert.equal(
        (await content(target, volume, 'createVolumeDir', { path: '/x', mode: 9_999 })).status,
        400,
      );
    },
  ),
  check(
    'a change of a path whose body is larger than 64 KiB is refused',
    ['updateVolumePath', '413'],
    async (target) => {
      const volume = await make(target);
      const body = { mode: 420, padding: 'x'.repeat(70_000) };
      const answer = await content(target, volume, 'updateVolumePath', { path: '/' }, body);
      assert.equal(answer.status, 413, answer.text);
      assert.equal((answer.json() as { code: string }).code, 'invalid_request');
    },
  ),
  check('no path leads out of a volume', ['readVolumeFile', '404'], async (target) => {
    const volume = await make(target);
    for (const path of [
      '../../../../etc/passwd',
      '/../../../../etc/passwd',
      '/a/../../../../../etc/passwd',
    ]) {
      const answer = await content(target, volume, 'readVolumeFile', { path });
      assert.ok(answer.status === 404 || answer.status === 400, `${path}: ${answer.status}`);
      assert.ok(!answer.text.includes('root:'));
    }
  }),
];
