import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { kill } from '../../../requests/sandboxes.js';
import { assertFailure, call, callFails } from '../../../wire/call.js';
import type { Made } from './calls.js';

const NOT_ENFORCED: Record<string, Record<string, unknown>> = {
  'transform rules': {
    network: { rules: { 'a.example.com': [{ transform: { headers: { 'X-Key': 'v' } } }] } },
  },
  'a part of the addresses denied': { network: { denyOut: ['203.0.113.0/24'] } },
  'exceptions from denying all': { network: { allowOut: ['203.0.113.0/24'], denyOut: ['0.0.0.0/0'] } },
};

/** Rules for the way out that are not enforced, and proxies. */
export const egressCases: Draft[] = [
  ...Object.entries(NOT_ENFORCED).map(([name, body]) =>
    check(
      `${name}: what would not be enforced is refused, never accepted in silence`,
      ['createSandboxV2', '400 not enforced'],
      async (target) => {
        // Other cases show how they are enforced.
        if (target.capabilities.has('egress')) return;
        const answer = await call(target, 'createSandboxV2', {
          body: { templateID: target.template, ...body },
        });
        if (answer.status === 201) {
          const { sandboxID } = answer.json() as Made;
          await kill(target, sandboxID);
          assert.fail('accepted: there must be a case that shows its enforcement');
        }
        assertFailure(answer, { status: 400, message: /enforce|isolate/ });
      },
    ),
  ),
  check(
    'an egress proxy of a team with the flag must have a sound address',
    ['createSandboxV2', '400 egressProxy', { needs: ['teams'] }],
    async (target) => {
      const team = await target.team({ egressProxy: true });
      for (const egressProxy of [
        { address: 'nonsense' },
        { address: 'proxy.example.com:0' },
        { address: 'proxy.example.com:65536' },
        { address: 'proxy.example.com:1080', password: 'p' },
        { address: 'proxy.example.com:1080', username: 'u'.repeat(256) },
      ])
        await callFails(team, 'createSandboxV2', 400, {
          body: { templateID: target.template, network: { egressProxy } },
        });
    },
  ),
];
