import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@svc/sdk';
import { below, type Figure, type Row, runs } from '../row.js';
import { daemons, processorMs, withDescendants } from '../support/processes.js';
import { startServerChild } from '../support/server-child.js';

/** The number of sandboxes that the share is given for: as many as one machine easily has. */
const SCALE = 300;
/** Made at once; more only wait for one another. */
const AT_ONCE = 5;

/** Processor time that processes use in a while, % of one core. */
async function share(pids: readonly number[], forMs: number): Promise<number> {
  const used = () => pids.reduce((total, pid) => total + processorMs(pid), 0);
  const [since, before] = [performance.now(), used()];
  await sleep(forMs);
  return ((used() - before) / (performance.now() - since)) * 100;
}

export const idleCost: Row = {
  id: 'idle-cost',
  about: 'processor time of the service and of daemons while sandboxes do nothing',
  async run(context) {
    const count = runs(context, 100, 2);
    const forMs = runs(context, 30_000, 500);
    const before = new Set(daemons());
    await using server = await startServerChild({ driver: context.driver, poolSize: 0 });
    const service = () => {
      const ofSandboxes = new Set(daemons());
      return withDescendants(server.rootPid).filter((pid) => !ofSandboxes.has(pid));
    };
    const client = new Client(server);
    // The cost of the empty server is not the sandboxes'.
    await sleep(forMs / 6);
    const empty = await share(service(), forMs / 2);
    for (let made = 0; made < count; made += AT_ONCE) {
      const next = Math.min(AT_ONCE, count - made);
      await Promise.all(
        Array.from({ length: next }, () => client.sandboxes.create({ timeoutMs: 3_600_000 })),
      );
    }
    // Until the service has seen that nothing happens in them.
    await sleep(forMs * 1.5);
    const ours = daemons().filter((pid) => !before.has(pid));
    const [full, sandboxes] = await Promise.all([share(service(), forMs), share(ours, forMs)]);
    const scaled = (percent: number) => (percent * SCALE) / count;
    const ofService = empty + scaled(Math.max(0, full - empty));
    const ofAll = ofService + scaled(sandboxes);
    const how = `${count} sandboxes for ${forMs / 1000} s, scaled to ${SCALE}; ${context.driver} driver`;
    return [
      {
        id: 'idle-cost.service',
        what: `processor time of the service beside ${SCALE} idle sandboxes, of one core`,
        value: ofService,
        unit: '%',
        beside: [{ name: 'without a sandbox', value: empty, unit: '%' }],
        target: below(ofService, 3, '<= 3 %'),
        how,
      },
      {
        id: 'idle-cost.all',
        what: '… with the daemons of the sandboxes',
        value: ofAll,
        unit: '%',
        beside: [{ name: 'the service', value: ofService, unit: '%' }],
        target: below(ofAll, 8, '<= 8 %'),
        how,
      },
    ] satisfies Figure[];
  },
};
