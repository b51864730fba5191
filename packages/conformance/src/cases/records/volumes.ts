import assert from 'node:assert/strict';
import { casesOf, type Draft } from '../../case.js';
import { unique, unknownIds } from '../../requests/samples.js';
import type { Target } from '../../targets/target.js';
import { assertFailure, assertStatus, call, callVolume } from '../../wire/call.js';
import { volumes as document } from '../../wire/documents.js';
import { run } from '../daemon/run.js';

interface Volume {
  volumeID: string;
  name: string;
  token: string;
}

const make = async (target: Target) =>
  assertStatus<Volume>(await call(target, 'createVolume', { body: { name: unique('volume') } }), 201);

const content = (
  target: Target,
  volume: Volume,
  operation: string,
  query: Record<string, string | number | boolean>,
  body?: unknown,
) =>
  callVolume(target.apiUrl, volume.token, operation, {
    path: { volumeID: volume.volumeID },
    query,
    ...(body === undefined ? {} : { body }),
  });

const SAMPLE_BODY: Record<string, unknown> = {
  updateVolumePath: { mode: 420 },
  writeVolumeFile: Buffer.from('x'),
};

/** Volumes, and their files. */
export const volumeCases = casesOf('volumes', [
  {
    name: 'a volume is made, read, listed and deleted',
    operation: 'createVolume',
    expects: 'success',
    run: async (target) => {
      const volume = await make(target);
      assert.equal(volume.token.split('.').length, 3, 'the token is a JWT');
      const read = assertStatus<Volume>(
        await call(target, 'getVolume', { path: { volumeID: volume.volumeID } }),
        200,
      );
      assert.equal(read.name, volume.name);
      const listed = assertStatus<Volume[]>(await call(target, 'listVolumes'), 200).find(
        (one) => one.volumeID === volume.volumeID,
      );
      assert.deepEqual(listed, { volumeID: volume.volumeID, name: volume.name }, 'no token in the list');
      assertStatus(await call(target, 'deleteVolume', { path: { volumeID: volume.volumeID } }), 204);
      assertFailure(await call(target, 'deleteVolume', { path: { volumeID: volume.volumeID } }), {
        status: 404,
        message: 'Volume not found',
      });
      assert.equal((await content(target, volume, 'getVolumePath', { path: '/' })).status, 404);
    },
  },
  {
    name: 'names that are none, or taken, give 400',
    operation: 'createVolume',
    expects: '400',
    run: async (target) => {
      for (const name of ['', 'a b', 'a/b', 'ä', 7, null])
        assertFailure(await call(target, 'createVolume', { body: { name } }), { status: 400 });
      const { name } = await make(target);
      assertFailure(await call(target, 'createVolume', { body: { name } }), {
        status: 400,
        message: /exists/,
      });
    },
  },
  {
    name: 'a volume of another team is not there',
    operation: 'getVolume',
    expects: '404 foreign',
    needs: ['teams'],
    run: async (target) => {
      const { volumeID } = await make(target);
      const stranger = await target.team();
      for (const operation of ['getVolume', 'deleteVolume'])
        assertFailure(await call(stranger, operation, { path: { volumeID } }), {
          status: 404,
          message: 'Volume not found',
        });
    },
  },
  {
    name: 'a failure to record a deletion is told by a fixed text',
    operation: 'deleteVolume',
    expects: '500',
    needs: ['servers'],
    run: async (target) => {
      const server = await target.server('broken-volumes');
      const answer = await call(server, 'deleteVolume', { path: { volumeID: unknownIds.volumeID } });
      assertFailure(answer, { status: 500 });
    },
  },
  {
    name: 'files go in and come out as they were',
    operation: 'writeVolumeFile',
    expects: 'success',
    run: async (target) => {
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
    },
  },
  {
    name: 'what makes no sense with files is told by its code',
    operation: 'writeVolumeFile',
    expects: '400, 404, 409',
    run: async (target) => {
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
  },
  {
    name: 'no path leads out of a volume',
    operation: 'readVolumeFile',
    expects: '404',
    run: async (target) => {
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
    },
  },
  ...[...document.operations.values()].flatMap((operation): Draft[] => [
    {
      name: `${operation.id} without a sound token gives 401`,
      operation: operation.id,
      expects: '401',
      run: async (target) => {
        const volume = await make(target);
        for (const token of [undefined, 'nonsense', `${volume.token.slice(0, -4)}AAAA`, target.apiKey]) {
          const answer = await callVolume(target.apiUrl, token, operation.id, {
            path: { volumeID: volume.volumeID },
            query: { path: '/x' },
            ...(SAMPLE_BODY[operation.id] === undefined ? {} : { body: SAMPLE_BODY[operation.id] }),
          });
          assert.equal(assertStatus<{ code: string }>(answer, 401).code, 'unauthorized');
        }
      },
    },
    {
      name: `${operation.id} with the token of another volume gives 403`,
      operation: operation.id,
      expects: '403',
      run: async (target) => {
        const [one, other] = [await make(target), await make(target)];
        const answer = await callVolume(target.apiUrl, one.token, operation.id, {
          path: { volumeID: other.volumeID },
          query: { path: '/x' },
          ...(SAMPLE_BODY[operation.id] === undefined ? {} : { body: SAMPLE_BODY[operation.id] }),
        });
        assert.equal(assertStatus<{ code: string }>(answer, 403).code, 'forbidden');
      },
    },
    {
      name: `${operation.id} without a path gives 400`,
      operation: operation.id,
      expects: '400',
      run: async (target) => {
        const volume = await make(target);
        const answer = await content(target, volume, operation.id, {}, SAMPLE_BODY[operation.id]);
        assert.equal(assertStatus<{ code: string }>(answer, 400).code, 'invalid_request');
      },
    },
  ]),
  {
    name: 'mounts that make no sense are refused, each by its index',
    operation: 'createSandboxV2',
    expects: '400 mounts',
    needs: ['mounts'],
    run: async (target) => {
      const { name } = await make(target);
      for (const path of ['', 'relative', '/a/../b', '/a/', '/a//b', '/'])
        assertFailure(
          await call(target, 'createSandboxV2', {
            body: { templateID: target.template, volumeMounts: [{ name, path }] },
          }),
          { status: 400, message: /\[0\]/ },
        );
      const twice = [
        { name, path: '/data' },
        { name, path: '/data' },
        { name: 'no-such', path: '/x' },
      ];
      assertFailure(
        await call(target, 'createSandboxV2', { body: { templateID: target.template, volumeMounts: twice } }),
        { status: 400, message: /\[1\].*\[2\]/ },
      );
    },
  },
  {
    name: 'a volume is shared between sandboxes, and kept over a pause',
    operation: 'createSandboxV2',
    expects: 'success',
    needs: ['mounts'],
    run: async (target) => {
      const volume = await make(target);
      const volumeMounts = [{ name: volume.name, path: '/data' }];
      const one = await target.newSandbox({ volumeMounts });
      const two = await target.newSandbox({ volumeMounts });
      await run(one, 'echo shared > /data/file', { user: 'root' });
      assert.equal((await run(two, 'cat /data/file')).stdout, 'shared\n');
      assert.equal((await content(target, volume, 'readVolumeFile', { path: '/file' })).text, 'shared\n');
      const read = assertStatus<{ volumeMounts: unknown }>(
        await call(target, 'getSandbox', { path: { sandboxID: one.sandboxId } }),
        200,
      );
      assert.deepEqual(read.volumeMounts, volumeMounts);
      assertStatus(await call(target, 'pauseSandbox', { path: { sandboxID: one.sandboxId } }), 204);
      assertStatus(
        await call(target, 'connectSandboxV2', { path: { sandboxID: one.sandboxId }, body: {} }),
        201,
      );
      assert.equal((await run(one, 'cat /data/file')).stdout, 'shared\n');
      for (const { sandboxId } of [one, two])
        await call(target, 'killSandbox', { path: { sandboxID: sandboxId } });
    },
  },
]);
