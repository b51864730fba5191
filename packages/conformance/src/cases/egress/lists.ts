import assert from 'node:assert/strict';
import { eventually } from '@svc/support/eventually';
import type { Draft } from '../../case.js';
import { kill } from '../../requests/sandboxes.js';
import { callOk } from '../../wire/call.js';
import { CLOSED, egressCase, egressSandbox, ownName, WORLD } from './fake-internet.js';

interface Traffic {
  totals: Record<'allowed' | 'denied' | 'bytesReceived', number>;
  destinations: { host?: string; address?: string; port: number; rule: string; denied: number }[];
}

/** Which connections leave, and their reports. */
export const listCases: Draft[] = [
  egressCase(
    'allowOut and denyOut decide by name and by address, and private addresses are denied under any rule',
    ['createSandboxV2', 'success'],
    async (create) => {
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
  ),
  egressCase(
    'without internet access only what allowOut names is reached, and denied ranges are closed alone',
    ['createSandboxV2', 'success'],
    async (create) => {
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
  ),
  egressCase(
    'the way out of a running sandbox changes at once, and what is omitted is cleared',
    ['updateSandboxNetwork', 'success'],
    async (create) => {
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
  ),
  egressCase(
    'a paused sandbox keeps its rules, and a fork has them',
    ['forkSandbox', 'success', { needs: ['memory'] }],
    async (create, server) => {
      const sandbox = await create({ network: { ...CLOSED, allowOut: ['one.test'] } });
      const [forked] = await callOk<{ sandbox: { sandboxID: string; envdAccessToken: string } }[]>(
        server,
        'forkSandbox',
        201,
        { ...sandbox.request, body: { timeout: 300 } },
      );
      const { sandboxID, envdAccessToken } = forked!.sandbox;
      const ids = { sandboxId: sandboxID, accessToken: envdAccessToken };
      const copy = egressSandbox(server, { ...sandbox, ...ids });
      await callOk(server, 'pauseSandbox', 204, sandbox.request);
      await callOk(server, 'resumeSandbox', 201, { ...sandbox.request, body: { timeout: 300 } });
      for (const each of [sandbox, copy]) {
        assert.equal(await each.status('http://one.test/'), '200');
        assert.equal(await each.status('http://two.test/'), 'no');
      }
      await kill(server, sandboxID);
    },
  ),
  egressCase(
    'what left is counted by destination with the rule that decided, what was denied is in the log',
    ['getSandboxEgress', 'success'],
    async (create, server) => {
      const host = ownName();
      const sandbox = await create({ network: { ...CLOSED, allowOut: ['*.one.test'] } });
      assert.equal(await sandbox.status(`http://${host}/`), '200');
      assert.equal(await sandbox.status(`http://${WORLD.two}/`), 'no');
      let seen: unknown;
      await eventually('all of it to be reported', async () => {
        const traffic = await callOk<Traffic>(server, 'getSandboxEgress', 200, sandbox.request);
        const { totals, destinations } = traffic;
        const rules = new Map(destinations.map((each) => [each.host ?? each.address, each.rule]));
        const logs = (
          await callOk<{ logs: { message: string }[] }>(server, 'getSandboxLogsV2', 200, {
            ...sandbox.request,
            query: { level: 'warn' },
          })
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
  ),
];
