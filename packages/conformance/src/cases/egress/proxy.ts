import assert from 'node:assert/strict';
import { PROXY_USER } from '@svc/runtime/testing';
import type { Draft } from '../../case.js';
import { assertFailure, call, callOk } from '../../wire/call.js';
import { CLOSED, egressCase, ownName, seenOf, WORLD } from './fake-internet.js';

/** Everything through a proxy of the team's own. */
export const proxyCases: Draft[] = [
  egressCase(
    'an egress proxy carries what is allowed, by name and by TLS where it speaks it, and fails closed',
    ['updateSandboxNetwork', 'success', { needs: ['teams'] }],
    async (create, server) => {
      const team = await server.team({ egressProxy: true });
      const host = ownName();
      const egressProxy = { address: `${WORLD.proxy}:1080`, ...PROXY_USER };
      const network = { ...CLOSED, allowOut: [host], egressProxy };
      const sandbox = await create({ network }, team);
      const proxied = () => {
        const asked = seenOf(server, host).filter((each) => each.server === 'socks');
        return asked.map(({ named, encrypted }) => ({ named, encrypted }));
      };
      assert.equal(await sandbox.status(`http://${host}/`), '200');
      assert.equal(await sandbox.status('http://two.test/'), 'no');
      assert.deepEqual(proxied(), [{ named: true, encrypted: false }]);
      const tls = { enabled: true, serverName: 'proxy.test', caCert: server.internet.ca };
      const secure = { ...egressProxy, address: `${WORLD.proxy}:1081`, tls };
      await sandbox.setNetwork({ ...network, egressProxy: secure });
      assert.equal(await sandbox.status(`http://${host}/`), '200');
      assert.deepEqual(proxied().at(-1), { named: true, encrypted: true });
      const seen = seenOf(server, host).length;
      for (const broken of [
        { ...egressProxy, password: 'wrong' },
        { ...egressProxy, address: `${WORLD.proxy}:1082` },
      ]) {
        await sandbox.setNetwork({ ...network, egressProxy: broken });
        assert.equal(await sandbox.status(`http://${host}/`), 'no');
      }
      assert.equal(seenOf(server, host).length, seen, 'nothing went past the proxy');
      const record = await callOk<object>(team, 'getSandbox', 200, sandbox.request);
      assert.ok(!JSON.stringify(record).includes(PROXY_USER.password), 'no password is shown');
    },
  ),
  egressCase(
    'an egress proxy needs the flag of its team, and an address of the public internet',
    ['createSandboxV2', '403 egressProxy', { needs: ['teams'] }],
    async (_create, server) => {
      const create = (api: { apiUrl: string; apiKey: string }, address: string) =>
        call(api, 'createSandboxV2', { body: { templateID: 'base', network: { egressProxy: { address } } } });
      const without = await server.team();
      assertFailure(await create(without, `${WORLD.proxy}:1080`), {
        status: 403,
        message: /network\.egressProxy/,
      });
      const allowed = await server.team({ egressProxy: true });
      for (const address of ['10.0.0.1:1080', '127.0.0.1:1080', '[::1]:1080'])
        assertFailure(await create(allowed, address), { status: 400, message: /public internet/ });
    },
  ),
];
