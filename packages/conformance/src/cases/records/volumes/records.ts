import assert from 'node:assert/strict';
import type { Draft } from '../../../case.js';
import { unknownIds } from '../../../requests/samples.js';
import { assertFailure, assertStatus, call } from '../../../wire/call.js';
import { content, make, type Volume } from './calls.js';

/** Volumes as records of a team. */
export const volumeRecordCases: Draft[] = [
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
];
