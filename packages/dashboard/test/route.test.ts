import { expect, it } from 'vitest';
import { codeIn, formatRoute, parseRoute } from '../src/router/route.js';

it.each([
  ['#/default/sandboxes', { team: 'default', view: 'sandboxes' }],
  ['#/default/sandboxes/i123/logs', { team: 'default', view: 'sandboxes', id: 'i123', tab: 'logs' }],
  [
    '#/a/templates?state=running&x=%3Cb%3E',
    { team: 'a', view: 'templates', query: { state: 'running', x: '<b>' } },
  ],
  ['', { team: undefined, view: 'sandboxes' }],
  ['#/default/nonsense/x', { team: 'default', view: 'sandboxes', id: undefined }],
  ['#/a/teams/a/keys', { team: 'a', view: 'teams', id: 'a', tab: 'keys' }],
  ['#/a/audit?outcome=refused', { view: 'audit', query: { outcome: 'refused' } }],
  ['#/%E0%A4%A/sandboxes', { team: undefined, view: 'sandboxes' }],
])('reads %s', (hash, route) => expect(parseRoute(hash)).toMatchObject(route));

it('writes what it reads', () => {
  for (const hash of ['#/default/sandboxes', '#/a%2Fb/webhooks/x/y?q=1+2', '#//server'])
    expect(formatRoute(parseRoute(hash))).toBe(hash);
  expect(formatRoute({ team: 'a', view: 'sandboxes', query: { state: '' } })).toBe('#/a/sandboxes');
});

it('finds the code of a link', () => {
  expect(codeIn('#code=ab_C-1')).toBe('ab_C-1');
  expect(codeIn('#/default/sandboxes?code=x')).toBeUndefined();
  expect(codeIn('#code=<script>')).toBeUndefined();
});
