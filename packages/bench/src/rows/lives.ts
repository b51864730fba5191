import { Client } from '@svc/sdk';
import { atLeast, below, type Row, runs } from '../row.js';
import { processorMsOfHost, processorMsOfTree } from '../support/processes.js';
import { startServerChild } from '../support/server-child.js';
import { timed } from '../support/time.js';

/** Lives at the same time: enough that two processors always have something to do. */
const AT_ONCE = 4;

/** Creates a sandbox, runs a command in it and kills it, `count` times, {@link AT_ONCE} at a time. */
async function live(client: Client, count: number): Promise<void> {
  let begun = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (begun++ < count) {
        const sandbox = await client.sandboxes.create();
        await sandbox.commands.run('true');
        await sandbox.kill();
      }
    }),
  );
}

export const lives: Row = {
  id: 'lives',
  about: 'short lives without a pause: create, `true`, kill; how many a second, and what each costs',
  async run(context) {
    await using server = await startServerChild({ driver: context.driver, poolSize: 0 });
    const client = new Client({ ...server, requestTimeoutMs: 60_000 });
    await live(client, AT_ONCE);
    const count = runs(context, 200, 4);
    const [service, host] = [processorMsOfTree(server.rootPid), processorMsOfHost()];
    const { ms } = await timed(() => live(client, count));
    const ofService = (processorMsOfTree(server.rootPid) - service) / count;
    const ofHost = (processorMsOfHost() - host) / count;
    const perSecond = (count * 1000) / ms;
    const how = `${count} lives, ${AT_ONCE} at once, no pool, ${context.driver} driver`;
    return [
      {
        id: 'lives.rate',
        what: 'create + `true` + kill, lives a second',
        value: perSecond,
        unit: '/s',
        beside: [],
        target: atLeast(perSecond, 20, '>= 20 /s'),
        how,
      },
      {
        id: 'lives.processor',
        what: '… processor time of each, of the whole machine',
        value: ofHost,
        unit: 'ms',
        beside: [{ name: 'of the service and what it starts', value: ofService, unit: 'ms' }],
        target: below(ofHost, 100, '<= 100 ms'),
        how,
      },
    ];
  },
};
