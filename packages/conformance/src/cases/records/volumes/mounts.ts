import assert from 'node:assert/strict';
import type { Draft } from '../../../case.js';
import { assertFailure, assertStatus, call } from '../../../wire/call.js';
import { run } from '../../../wire/run.js';
import { content, make } from './calls.js';

/** Volumes mounted into sandboxes. */
export const mountCases: Draft[] = [
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
    name: 'a paused sandbox whose volume was deleted is not started with an empty directory',
    operation: 'connectSandboxV2',
    expects: '400 mounts',
    needs: ['mounts'],
    run: async (target) => {
      const volume = await make(target);
      const { sandboxId } = await target.newSandbox({ volumeMounts: [{ name: volume.name, path: '/data' }] });
      const path = { sandboxID: sandboxId };
      assertStatus(await call(target, 'pauseSandbox', { path }), 204);
      assertStatus(await call(target, 'deleteVolume', { path: { volumeID: volume.volumeID } }), 204);
      const { message } = assertFailure(await call(target, 'connectSandboxV2', { path, body: {} }), {
        status: 400,
      });
      assert.ok(message.includes(volume.name), message);
      assertStatus(await call(target, 'killSandbox', { path }), 204);
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
];
