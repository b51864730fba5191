import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { detail, pause } from '../../../requests/sandboxes.js';
import { call, callFails, callOk } from '../../../wire/call.js';
import { run } from '../../../wire/run.js';
import { content, make } from './calls.js';

/** Volumes mounted into sandboxes. */
export const mountCases: Draft[] = [
  check(
    'mounts that make no sense are refused, each by its index',
    ['createSandboxV2', '400 mounts', { needs: ['mounts'] }],
    async (target) => {
      const { name } = await make(target);
      for (const path of ['', 'relative', '/a/../b', '/a/', '/a//b', '/'])
        await callFails(
          target,
          'createSandboxV2',
          { status: 400, message: /\[0\]/ },
          {
            body: { templateID: target.template, volumeMounts: [{ name, path }] },
          },
        );
      const twice = [
        { name, path: '/data' },
        { name, path: '/data' },
        { name: 'no-such', path: '/x' },
      ];
      await callFails(
        target,
        'createSandboxV2',
        { status: 400, message: /\[1\].*\[2\]/ },
        { body: { templateID: target.template, volumeMounts: twice } },
      );
    },
  ),
  check(
    'a paused sandbox whose volume was deleted is not started with an empty directory',
    ['connectSandboxV2', '400 mounts', { needs: ['mounts'] }],
    async (target) => {
      const volume = await make(target);
      const { sandboxId } = await target.newSandbox({ volumeMounts: [{ name: volume.name, path: '/data' }] });
      const path = { sandboxID: sandboxId };
      await callOk(target, 'pauseSandbox', 204, { path });
      await callOk(target, 'deleteVolume', 204, { path: { volumeID: volume.volumeID } });
      const { message } = await callFails(target, 'connectSandboxV2', 400, { path, body: {} });
      assert.ok(message.includes(volume.name), message);
      await callOk(target, 'killSandbox', 204, { path });
    },
  ),
  check(
    'a volume is shared between sandboxes, and kept over a pause',
    ['createSandboxV2', 'success', { needs: ['mounts'] }],
    async (target) => {
      const volume = await make(target);
      const volumeMounts = [{ name: volume.name, path: '/data' }];
      const one = await target.newSandbox({ volumeMounts });
      const two = await target.newSandbox({ volumeMounts });
      await run(one, 'echo shared > /data/file', { user: 'root' });
      assert.equal((await run(two, 'cat /data/file')).stdout, 'shared\n');
      assert.equal((await content(target, volume, 'readVolumeFile', { path: '/file' })).text, 'shared\n');
      const read = await detail(target, one.sandboxId);
      assert.deepEqual(read.volumeMounts, volumeMounts);
      await pause(target, one.sandboxId);
      await callOk(target, 'connectSandboxV2', 201, { path: { sandboxID: one.sandboxId }, body: {} });
      assert.equal((await run(one, 'cat /data/file')).stdout, 'shared\n');
      for (const { sandboxId } of [one, two])
        await call(target, 'killSandbox', { path: { sandboxID: sandboxId } });
    },
  ),
];
