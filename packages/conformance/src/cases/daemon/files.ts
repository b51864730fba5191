import assert from 'node:assert/strict';
import { casesOf, check, type Draft } from '../../case.js';
import { UNKNOWN } from '../../requests/knock.js';
import { daemon as document } from '../../wire/documents.js';
import { http } from './files/calls.js';
import { plainRouteCases } from './files/plain-routes.js';
import { specialCases } from './files/special.js';
import { transferCases } from './files/transfers.js';

const nowhere = (sandboxUrl: string) => ({ sandboxUrl, sandboxId: UNKNOWN, accessToken: 'none' });

/** The gateway's answers in front of every route of the daemon. */
const inFrontCases: Draft[] = [...document.operations.values()].flatMap((operation): Draft[] => [
  check(
    `${operation.id} of a sandbox that is not there gives 502`,
    [`daemon ${operation.id}`, '502'],
    async (target) => {
      const answer = await http(nowhere(target.sandboxUrl), operation.id);
      assert.equal(answer.status, 502, answer.text);
    },
  ),
  check(`${operation.id} without a port gives 400`, [`daemon ${operation.id}`, '400'], async (target) => {
    const headers = { 'Svc-Sandbox-Port': undefined };
    const answer = await http(nowhere(target.sandboxUrl), operation.id, {}, { headers });
    assert.equal(answer.status, 400, answer.text);
  }),
  check(
    `${operation.id} of a server that stops gives 503`,
    [`daemon ${operation.id}`, '503', { needs: ['servers'] }],
    async (target) => {
      const { sandboxUrl } = await target.server('draining');
      const answer = await http(nowhere(sandboxUrl), operation.id);
      assert.equal(answer.status, 503, answer.text);
      assert.equal(answer.headers['retry-after'], '1');
    },
  ),
]);

/** /files and the other plain routes of the daemon. */
export const fileCases = casesOf('files', [
  ...plainRouteCases,
  ...transferCases,
  ...specialCases,
  ...inFrontCases,
]);
