import assert from 'node:assert/strict';
import { casesOf, check, type Draft } from '../../case.js';
import { assertStatus, callVolume } from '../../wire/call.js';
import { volumes as document } from '../../wire/documents.js';
import { content, make, SAMPLE_BODY } from './volumes/calls.js';
import { contentCases } from './volumes/content.js';
import { mountCases } from './volumes/mounts.js';
import { volumeRecordCases } from './volumes/records.js';

/** Access to the content of a volume. */
const tokenCases: Draft[] = [...document.operations.values()].flatMap((operation): Draft[] => [
  check(`${operation.id} without a sound token gives 401`, [operation.id, '401'], async (target) => {
    const volume = await make(target);
    for (const token of [undefined, 'nonsense', `${volume.token.slice(0, -4)}AAAA`, target.apiKey]) {
      const answer = await callVolume(target.apiUrl, token, operation.id, {
        path: { volumeID: volume.volumeID },
        query: { path: '/x' },
        ...(SAMPLE_BODY[operation.id] === undefined ? {} : { body: SAMPLE_BODY[operation.id] }),
      });
      assert.equal(assertStatus<{ code: string }>(answer, 401).code, 'unauthorized');
    }
  }),
  check(
    `${operation.id} with the token of another volume gives 403`,
    [operation.id, '403'],
    async (target) => {
      const [one, other] = [await make(target), await make(target)];
      const answer = await callVolume(target.apiUrl, one.token, operation.id, {
        path: { volumeID: other.volumeID },
        query: { path: '/x' },
        ...(SAMPLE_BODY[operation.id] === undefined ? {} : { body: SAMPLE_BODY[operation.id] }),
      });
      assert.equal(assertStatus<{ code: string }>(answer, 403).code, 'forbidden');
    },
  ),
  check(`${operation.id} without a path gives 400`, [operation.id, '400'], async (target) => {
    const volume = await make(target);
    const answer = await content(target, volume, operation.id, {}, SAMPLE_BODY[operation.id]);
    assert.equal(assertStatus<{ code: string }>(answer, 400).code, 'invalid_request');
  }),
]);

/** Volumes, and their files. */
export const volumeCases = casesOf('volumes', [
  ...volumeRecordCases,
  ...contentCases,
  ...tokenCases,
  ...mountCases,
]);
