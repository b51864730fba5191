import assert from 'node:assert/strict';
import { casesOf, check, type Draft } from '../../case.js';
import { sampleRequest, unknownIds } from '../../requests/samples.js';
import { assertFailure, call, callFails } from '../../wire/call.js';
import { send } from '../../wire/send.js';
import { all, needsOf, takesJson } from './operations.js';

const BAD_IDS: Record<string, { values: string[]; message: string }> = {
  sandboxID: { values: ['UPPER', 'a-b-c', 'with.dot', 'a%2fb'], message: 'Invalid sandbox ID' },
  volumeID: { values: ['not-a-uuid', '123'], message: 'Invalid volume ID' },
  webhookID: { values: ['not-a-uuid', '123'], message: 'Invalid webhook ID' },
  eventID: { values: ['not-a-uuid', '123'], message: 'Invalid event ID' },
  apiKeyID: { values: ['not-a-uuid'], message: 'Invalid API key ID' },
  buildID: { values: ['not-a-uuid'], message: '' },
};

const json = all.filter((operation) => operation.secured && takesJson(operation));
const withId = all.flatMap((operation) =>
  operation.parameters
    .filter((parameter) => parameter.in === 'path' && BAD_IDS[parameter.name] !== undefined)
    .map((parameter) => ({ operation, name: parameter.name })),
);
const missable = all.filter(
  (operation) =>
    operation.secured &&
    operation.statuses.includes('404') &&
    operation.parameters.some((one) => one.in === 'path'),
);

/** Requests of every operation that are wrong by the document, or name an object that is not there. */
export const requestCases = casesOf('requests', [
  ...json.flatMap((operation): Draft[] => [
    check(
      `${operation.id} refuses a body that is not JSON`,
      [operation.id, '400 validation', { needs: needsOf(operation) }],
      async (target) => {
        for (const body of ['{', '{"a":}', 'plain', '']) {
          if (body === '' && !operation.bodyRequired) continue;
          const answer = await call(target, operation.id, {
            ...sampleRequest(operation.id),
            body: Buffer.from(body),
            headers: { 'Content-Type': 'application/json' },
          });
          assertFailure(answer, { status: 400, message: /^(validation error: |Invalid secrets request)/ });
        }
      },
    ),
    check(
      `${operation.id} refuses a body of another shape`,
      [operation.id, '400 validation', { needs: needsOf(operation) }],
      async (target) => {
        for (const body of [[], 'text', 7, [{}]]) {
          const answer = await call(target, operation.id, { ...sampleRequest(operation.id), body });
          assertFailure(answer, {
            status: 400,
            message: operation.path.startsWith('/secrets') ? 'Invalid secrets request' : 'validation error: ',
          });
        }
      },
    ),
    check(
      `${operation.id} refuses a body that is too large`,
      [operation.id, '413', { needs: needsOf(operation, 'servers') }],
      async (target) => {
        const server = await target.server('small');
        const answer = await call(server, operation.id, {
          ...sampleRequest(operation.id),
          body: { ...(sampleRequest(operation.id).body as object), padding: 'x'.repeat(4_096) },
        });
        assertFailure(answer, { status: 413 });
      },
    ),
  ]),
  ...withId.map(({ operation, name }) =>
    check(
      `${operation.id} refuses a bad ${name}`,
      [operation.id, `400 ${name}`, { needs: needsOf(operation) }],
      async (target) => {
        for (const value of BAD_IDS[name]!.values) {
          const sample = sampleRequest(operation.id);
          const answer = await call(target, operation.id, {
            ...sample,
            path: { ...sample.path, [name]: value },
          });
          // A build is looked for in its template: which of the two is wrong may be reported either way.
          if (name === 'buildID' && answer.status === 404) continue;
          assertFailure(answer, { status: 400, message: BAD_IDS[name]!.message });
        }
      },
    ),
  ),
  ...missable.map((operation) =>
    check(
      `${operation.id} reports that there is nothing of this id`,
      [operation.id, '404', { needs: needsOf(operation) }],
      async (target) => await callFails(target, operation.id, 404, sampleRequest(operation.id)),
    ),
  ),
  check('the largest body is 16 MiB', ['createSandboxV2', '413'], async (target) => {
    const body = {
      ...(sampleRequest('createSandboxV2').body as object),
      padding: 'x'.repeat(16 * 1_048_576),
    };
    await callFails(target, 'createSandboxV2', 413, { body });
  }),
  check('a body of another content type is refused', ['createVolume', '400 validation'], async (target) => {
    const answer = await call(target, 'createVolume', {
      body: Buffer.from('name=volume'),
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    assertFailure(answer, { status: 400, message: 'validation error: ' });
  }),
  check('fields that nobody knows are ignored', ['createVolume', 'success'], async (target) => {
    const body = { ...(sampleRequest('createVolume').body as object), unheardOf: { deep: [1, 2] } };
    assert.equal((await call(target, 'createVolume', { body })).status, 201);
  }),
  check('a route that is not there gives the record', ['none', '404'], async (target) => {
    for (const path of ['/nowhere', '/v9/sandboxes', `/sandboxes/${unknownIds.sandboxID}/nothing`]) {
      const answer = await send(`${target.apiUrl}${path}`, { headers: { 'X-API-Key': target.apiKey } });
      assertFailure(answer, { status: 404 });
      assert.match(answer.headers['content-type'] ?? '', /^application\/json/);
    }
  }),
  check('the removed build routes are removed', ['none', '404'], async (target) => {
    for (const path of ['/templates', '/v2/templates', '/templates/abc', '/templates/abc/builds/def']) {
      const answer = await send(`${target.apiUrl}${path}`, {
        method: 'POST',
        headers: { 'X-API-Key': target.apiKey, 'Content-Type': 'application/json' },
        body: '{}',
      });
      assert.equal(answer.status, 404, path);
    }
  }),
  check('a known path with another method gives 405 with Allow', ['none', '405'], async (target) => {
    const answer = await send(`${target.apiUrl}/v2/sandboxes`, {
      method: 'DELETE',
      headers: { 'X-API-Key': target.apiKey },
    });
    assertFailure(answer, { status: 405 });
    const allow = (answer.headers.allow ?? '').split(', ');
    assert.ok(allow.includes('GET') && allow.includes('POST'), answer.headers.allow);
  }),
  check('every answer carries an id for the log', ['getTeam', 'success'], async (target) => {
    const first = await call(target, 'getTeam');
    const second = await call(target, 'getTeam');
    assert.ok((first.headers['x-request-id'] as string).length > 0);
    assert.notEqual(first.headers['x-request-id'], second.headers['x-request-id']);
  }),
]);
