import assert from 'node:assert/strict';
import { check, type Draft } from '../../case.js';
import { assertRecord, assertText, knock, to, UNKNOWN } from '../../requests/knock.js';

/** Addresses that lead nowhere: bad ones, unknown sandboxes, closed ports. */
export const refusalCases: Draft[] = [
  check(
    'one routing header without the other gives 400 missing header',
    ['gateway', '400 missing header'],
    async (target) => {
      const sandbox = await target.sandbox();
      assertText(await knock(target, { 'Svc-Sandbox-Id': sandbox.sandboxId }), 400, 'missing header');
      assertText(await knock(target, { 'Svc-Sandbox-Port': '49983' }), 400, 'missing header');
      assertText(await knock(target, {}), 400, 'missing header');
    },
  ),
  check('a host that is none gives 400 Invalid host', ['gateway', '400 Invalid host'], async (target) => {
    for (const host of ['nodots', 'nodash.example.com', '-.example.com.'])
      assert.equal((await knock(target, { Host: host })).status, 400, host);
    assertText(await knock(target, { Host: 'nodots' }), 400, 'Invalid host');
  }),
  check('a bad sandbox id gives 400', ['gateway', '400 Invalid sandbox ID'], async (target) => {
    for (const id of ['UPPER', 'a-b', 'a.b', '../x'])
      assertText(await knock(target, to(id, 49_983)), 400, 'Invalid sandbox ID');
  }),
  check('a bad port gives 400', ['gateway', '400 Invalid sandbox port'], async (target) => {
    for (const port of ['0', '65536', '-1', 'abc', '80.0', '0x50', '99999999999'])
      assertText(await knock(target, to(UNKNOWN, port)), 400, 'Invalid sandbox port');
  }),
  check('an unknown sandbox gives 502 with its id', ['gateway', '502 not found'], async (target) => {
    const record = assertRecord(await knock(target, to(UNKNOWN, 49_983), '/health'), 502);
    assert.equal(record.sandboxId, UNKNOWN);
    assert.equal(record.message, 'The sandbox was not found');
  }),
  check(
    'a port where nothing listens gives 502 with the port',
    ['gateway', '502 port closed'],
    async (target) => {
      const sandbox = await target.sandbox();
      const record = assertRecord(await knock(target, to(sandbox.sandboxId, 9)), 502);
      assert.equal(record.sandboxId, sandbox.sandboxId);
      assert.equal(record.port, 9);
    },
  ),
  check('a browser gets a page instead of a record', ['gateway', '502 page'], async (target) => {
    const answer = await knock(target, {
      ...to(UNKNOWN, 8_080),
      'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0 Safari/537.36',
      'Sec-Fetch-Mode': 'navigate',
      Accept: 'text/html',
    });
    assert.equal(answer.status, 502);
    assert.match(answer.headers['content-type'] ?? '', /^text\/html/);
  }),
  check(
    'preflights of what is not there are answered by the gateway',
    ['gateway', 'preflight'],
    async (target) => {
      for (const headers of [to(UNKNOWN, 8_080), { 'Svc-Sandbox-Id': UNKNOWN }, to('BAD', 1)]) {
        const answer = await knock(
          target,
          {
            ...headers,
            Origin: 'https://a.example.com',
            'Access-Control-Request-Method': 'PUT',
            'Access-Control-Request-Headers': 'x-one, x-two',
          },
          '/',
          { method: 'OPTIONS' },
        );
        assert.equal(answer.status, 204, answer.text);
        assert.equal(answer.headers['access-control-allow-origin'], '*');
        assert.equal(answer.headers['access-control-allow-methods'], '*');
        assert.equal(answer.headers['access-control-allow-headers'], 'x-one, x-two');
        assert.equal(answer.headers['access-control-max-age'], '86400');
      }
      const plain = await knock(target, to(UNKNOWN, 8_080), '/', { method: 'OPTIONS' });
      assert.equal(plain.status, 502, 'an OPTIONS that is no preflight is a request');
    },
  ),
];
