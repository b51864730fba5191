import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { unknownIds } from '../../../requests/samples.js';
import { assertFailure, call, callFails, callOk } from '../../../wire/call.js';
import { content, make, type Volume } from './calls.js';

/** Volumes as records of a team. */
export const volumeRecordCases: Draft[] = [
  check('a volume is made, read, listed and deleted', ['createVolume', 'success'], async (target) => {
    const volume = await make(target);
    assert.equal(volume.token.split('.').length, 3, 'the token is a JWT');
    const read = await callOk<Volume>(target, 'getVolume', 200, { path: { volumeID: volume.volumeID } });
    assert.equal(read.name, volume.name);
    const listed = (await callOk<Volume[]>(target, 'listVolumes', 200)).find(
      (one) => one.volumeID === volume.volumeID,
    );
    assert.deepEqual(listed, { volumeID: volume.volumeID, name: volume.name }, 'no token in the list');
    await callOk(target, 'deleteVolume', 204, { path: { volumeID: volume.volumeID } });
    await callFails(
      target,
      'deleteVolume',
      { status: 404, message: 'Volume not found' },
      { path: { volumeID: volume.volumeID } },
    );
    assert.equal((await content(target, volume, 'getVolumePath', { path: '/' })).status, 404);
  }),
  check('names that are none, or taken, give 400', ['createVolume', '400'], async (target) => {
    for (const name of ['', 'a b', 'a/b', 'ä', 7, null])
      await callFails(target, 'createVolume', 400, { body: { name } });
    const { name } = await make(target);
    await callFails(target, 'createVolume', { status: 400, message: /exists/ }, { body: { name } });
  }),
  check(
    'a volume of another team is not there',
    ['getVolume', '404 foreign', { needs: ['teams'] }],
    async (target) => {
      const { volumeID } = await make(target);
      const stranger = await target.team();
      for (const operation of ['getVolume', 'deleteVolume'])
        await callFails(
          stranger,
          operation,
          { status: 404, message: 'Volume not found' },
          { path: { volumeID } },
        );
    },
  ),
  check(
    'a failure to record a deletion is reported by a fixed text',
    ['deleteVolume', '500', { needs: ['servers'] }],
    async (target) => {
      const server = await target.server('broken-volumes');
      const answer = await call(server, 'deleteVolume', { path: { volumeID: unknownIds.volumeID } });
      assertFailure(answer, { status: 500 });
    },
  ),
];
