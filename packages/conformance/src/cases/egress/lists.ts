import assert from 'node:assert/strict';
import { eventually } from '@svc/support/eventually';
import type { Draft } from '../../case.js';
import { assertStatus, call } from '../../wire/call.js';
import { CLOSED, ownName, played, playedSandbox, WORLD } from './played.js';

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
    run: async (create) => {
      const sandbox = await create({
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
        assert.equal(await sandbox.status(url), expected, url);
    },
  }),
  played({
    name: 'without internet access only what allowOut names is reached, and denied ranges are closed alone',
    operation: 'createSandboxV2',
    expects: 'success',
    run: async (create) => {
      for (const [body, open, closed] of [
        [
          { allow_internet_access: false, network: { ...CLOSED, allowOut: ['one.test'] } },
          'http://one.test/',
          'http://two.test/',
        ],
        [{ network: { denyOut: [`${WORLD.two}/31`] } }, `http://${WORLD.other}/`, `http://${WORLD.two}/`],
      ] as const) {
        const sandbox = await create(body);
        assert.equal(await sandbox.status(open), '200');
        assert.equal(await sandbox.status(closed), 'no');
      }
    },
  }),
  played({
    name: 'the way out of a running sandbox changes at once, and what is omitted is cleared',
    operation: 'updateSandboxNetwork',
    expects: 'success',
    run: async (create) => {
      const sandbox = await create();
      for (const [network, one, two] of [
        [{ ...CLOSED, allowOut: ['one.test'] }, '200', 'no'],
        [{ ...CLOSED, allowOut: ['two.test'] }, 'no', '200'],
        [{ allow_internet_access: false }, 'no', 'no'],
        [{}, '200', '200'],
      ] as const) {
        await sandbox.setNetwork(network);
        assert.equal(await sandbox.status('http://one.test/'), one, JSON.stringify(network));
        assert.equal(await sandbox.status('http://two.test/'), two, JSON.stringify(network));
      }
    },
  }),
  played({
    name: 'a paused sandbox keeps its rules, and a fork has them',
    operation: 'forkSandbox',
    expects: 'success',
    needs: ['memory'],
    run: async (create, server) => {
      const sandbox = await create({ network: { ...CLOSED, allowOut: ['one.test'] } });
      const [forked] = assertStatus<{ sandbox: { sandboxID: string; envdAccessToken: string } }[]>(
        await call(server, 'forkSandbox', { ...sandbox.request, body: { timeout: 300 } }),
        201,
      );
      const { sandboxID, envdAccessToken } = forked!.sandbox;
      const ids = { sandboxId: sandboxID, accessToken: envdAccessToken };
      const copy = playedSandbox(server, { ...sandbox, ...ids });
      assertStatus(await call(server, 'pauseSandbox', sandbox.request), 204);
      assertStatus(await call(server, 'resumeSandbox', { ...sandbox.request, body: { timeout: 300 } }), 201);
      for (const each of [sandbox, copy]) {
        assert.equal(await each.status('http://one.test/'), '200');
        assert.equal(await each.status('http://two.test/'), 'no');
      }
      assertStatus(await call(server, 'killSandbox', { path: { sandboxID } }), 204);
    },
  }),
  played({
    name: 'what left is counted by destination with the rule that decided, what was denied is in the log',
    operation: 'getSandboxEgress',
    expects: 'success',
    run: async (create, server) => {
      const host = ownName();
      const sandbox = await create({ network: { ...CLOSED, allowOut: ['*.one.test'] } });
      assert.equal(await sandbox.status(`http://${host}/`), '200');
      assert.equal(await sandbox.status(`http://${WORLD.two}/`), 'no');
      let seen: unknown;
      await eventually('all of it to be told', async () => {
        const traffic = assertStatus<Traffic>(await call(server, 'getSandboxEgress', sandbox.request), 200);
        const { totals, destinations } = traffic;
        const rules = new Map(destinations.map((each) => [each.host ?? each.address, each.rule]));
        const logs = assertStatus<{ logs: { message: string }[] }>(
          await call(server, 'getSandboxLogsV2', { ...sandbox.request, query: { level: 'warn' } }),
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
    },
  }),
];
