import assert from 'node:assert/strict';
import { eventually } from '@svc/support/eventually';
import type { Draft } from '../../case.js';
import { assertStatus, call } from '../../wire/call.js';
import { CLOSED, end, ownName, played, statusInside, updateNetwork, WORLD } from './played.js';

interface Traffic {
  totals: Record<'allowed' | 'denied' | 'bytesReceived', number>;
  destinations: { host?: string; address?: string; port: number; rule: string; denied: number }[];
}

/** Which connections leave, and what is told of them. */
export const listCases: Draft[] = [
  played({
    name: 'allowOut and denyOut decide by name and by address, and private addresses are denied whatever they say',
    operation: 'createSandboxV2',
    expects: 'success',
    run: async (server) => {
      const sandbox = await server.newSandbox({
        network: { ...CLOSED, allowOut: ['one.test', '*.one.test', `${WORLD.other}/32`, '10.0.0.0/8'] },
      });
      const table = {
        'http://one.test/': '200',
        'http://api.one.test/': '200',
        [`http://${WORLD.other}/`]: '200',
        'http://two.test/': 'no',
        [`http://${WORLD.two}/`]: 'no',
        // Its name was allowed, its address was not.
        [`http://${WORLD.one}/`]: 'no',
        [`http://${WORLD.mirror}/`]: 'no',
        'http://169.254.169.254/': 'no',
      };
      for (const [url, expected] of Object.entries(table))
        assert.equal(await statusInside(sandbox, url), expected, url);
      await end(server, sandbox);
    },
  }),
  played({
    name: 'without internet access only what allowOut names is reached, and denied ranges are closed alone',
    operation: 'createSandboxV2',
    expects: 'success',
    run: async (server) => {
      for (const [body, open, closed] of [
        [
          { allow_internet_access: false, network: { ...CLOSED, allowOut: ['one.test'] } },
          'http://one.test/',
          'http://two.test/',
        ],
        [{ network: { denyOut: [`${WORLD.two}/31`] } }, `http://${WORLD.other}/`, `http://${WORLD.two}/`],
      ] as const) {
        const sandbox = await server.newSandbox(body);
        assert.equal(await statusInside(sandbox, open), '200');
        assert.equal(await statusInside(sandbox, closed), 'no');
        await end(server, sandbox);
      }
    },
  }),
  played({
    name: 'the way out of a running sandbox changes at once, and what is omitted is cleared',
    operation: 'updateSandboxNetwork',
    expects: 'success',
    run: async (server) => {
      const sandbox = await server.newSandbox();
      for (const [network, one, two] of [
        [{ ...CLOSED, allowOut: ['one.test'] }, '200', 'no'],
        [{ ...CLOSED, allowOut: ['two.test'] }, 'no', '200'],
        [{ allow_internet_access: false }, 'no', 'no'],
        [{}, '200', '200'],
      ] as const) {
        await updateNetwork(server, sandbox, network);
        assert.equal(await statusInside(sandbox, 'http://one.test/'), one, JSON.stringify(network));
        assert.equal(await statusInside(sandbox, 'http://two.test/'), two, JSON.stringify(network));
      }
      await end(server, sandbox);
    },
  }),
  played({
    name: 'a paused sandbox keeps its rules, and a fork has them',
    operation: 'forkSandbox',
    expects: 'success',
    needs: ['memory'],
    run: async (server) => {
      const sandbox = await server.newSandbox({ network: { ...CLOSED, allowOut: ['one.test'] } });
      const path = { sandboxID: sandbox.sandboxId };
      const [forked] = assertStatus<{ sandbox: { sandboxID: string; envdAccessToken: string } }[]>(
        await call(server, 'forkSandbox', { path, body: { timeout: 300 } }),
        201,
      );
      const { sandboxID, envdAccessToken } = forked!.sandbox;
      const copy = { ...sandbox, sandboxId: sandboxID, accessToken: envdAccessToken };
      assertStatus(await call(server, 'pauseSandbox', { path }), 204);
      assertStatus(await call(server, 'resumeSandbox', { path, body: { timeout: 300 } }), 201);
      for (const each of [sandbox, copy]) {
        assert.equal(await statusInside(each, 'http://one.test/'), '200');
        assert.equal(await statusInside(each, 'http://two.test/'), 'no');
        await end(server, each);
      }
    },
  }),
  played({
    name: 'what left is counted by destination with the rule that decided, what was denied is in the log',
    operation: 'getSandboxEgress',
    expects: 'success',
    run: async (server) => {
      const host = ownName();
      const sandbox = await server.newSandbox({ network: { ...CLOSED, allowOut: ['*.one.test'] } });
      const path = { sandboxID: sandbox.sandboxId };
      assert.equal(await statusInside(sandbox, `http://${host}/`), '200');
      assert.equal(await statusInside(sandbox, `http://${WORLD.two}/`), 'no');
      let seen: unknown;
      await eventually('all of it to be told', async () => {
        const traffic = assertStatus<Traffic>(await call(server, 'getSandboxEgress', { path }), 200);
        const { totals, destinations } = traffic;
        const rules = new Map(destinations.map((each) => [each.host ?? each.address, each.rule]));
        const logs = assertStatus<{ logs: { message: string }[] }>(
          await call(server, 'getSandboxLogsV2', { path, query: { level: 'warn' } }),
          200,
        ).logs;
        seen = { traffic, logs };
        return (
          totals.bytesReceived > 0 &&
          rules.get(host) === 'allowOut[0] *.one.test' &&
          rules.get(WORLD.two) === 'denyOut[0] 0.0.0.0/0' &&
          logs.some(({ message }) => message.includes(WORLD.two))
        );
      }).catch((error: Error) => assert.fail(`${error.message} ${JSON.stringify(seen)}`));
      await end(server, sandbox);
    },
  }),
];
