import assert from 'node:assert/strict';
import type { Draft } from '../../../case.js';
import { UNKNOWN } from '../../../requests/knock.js';
import { daemon as document } from '../../../wire/documents.js';
import { http } from './calls.js';

const nowhere = (sandboxUrl: string) => ({ sandboxUrl, sandboxId: UNKNOWN, accessToken: 'none' });

/** What the gateway answers in front of every route of the daemon. */
export const inFrontCases: Draft[] = [...document.operations.values()].flatMap((operation): Draft[] => [
  {
    name: `${operation.id} of a sandbox that is not there gives 502`,
    operation: `daemon ${operation.id}`,
    expects: '502',
    run: async (target) => {
      const answer = await http(nowhere(target.sandboxUrl), operation.id);
      assert.equal(answer.status, 502, answer.text);
    },
  },
  {
    name: `${operation.id} without a port gives 400`,
    operation: `daemon ${operation.id}`,
    expects: '400',
    run: async (target) => {
      const headers = { 'Svc-Sandbox-Port': undefined };
      const answer = await http(nowhere(target.sandboxUrl), operation.id, {}, { headers });
      assert.equal(answer.status, 400, answer.text);
    },
  },
  {
    name: `${operation.id} of a server that stops gives 503`,
    operation: `daemon ${operation.id}`,
    expects: '503',
    needs: ['servers'],
    run: async (target) => {
      const { sandboxUrl } = await target.server('draining');
      const answer = await http(nowhere(sandboxUrl), operation.id);
      assert.equal(answer.status, 503, answer.text);
      assert.equal(answer.headers['retry-after'], '1');
    },
  },
]);
