import { Client } from '@svc/sdk';
import { below, type Row, runs } from '../row.js';
import { plainWork } from '../support/plain-work.js';
import { processorMsOfTree } from '../support/processes.js';
import { startServerChild } from '../support/server-child.js';

/** What the service took when this was last set right, in units of {@link plainWork}: a change may make it half as much again. */
const USUAL = { life: 0.48, run: 0.3 };
const MOST = 1.5;
/** Commands in one measurement, against one life: each is small beside the ticks that processor time is counted in. */
const COMMANDS = 10;

export const serviceCost: Row = {
  id: 'service-cost',
  about:
    'processor time of the service for a life and for commands, beside plain work of Node in the same run',
  async run(context) {
    await using server = await startServerChild({ driver: context.driver, poolSize: 0 });
    const client = new Client(server);
    // Longer than the rounds take on the busiest machine.
    const kept = await client.sandboxes.create({ timeoutMs: 3_600_000 });
    const commands = async () => {
      for (let count = 0; count < COMMANDS; count++) await kept.commands.run('true');
    };
    const life = async () => {
      const sandbox = await client.sandboxes.create();
      await sandbox.kill();
    };
    const cost = async (work: () => Promise<void>) => {
      const before = processorMsOfTree(server.rootPid);
      await work();
      return processorMsOfTree(server.rootPid) - before;
    };
    for (let warmUp = 0; warmUp < runs(context, 5, 1); warmUp++) await Promise.all([life(), commands()]);
    const total = { life: 0, run: 0, plain: 0 };
    const rounds = runs(context, 40, 2);
    for (let round = 0; round < rounds; round++) {
      total.life += await cost(life);
      total.run += await cost(commands);
      total.plain += await plainWork();
    }
    const plain = { name: 'plain work', value: total.plain / rounds, unit: 'ms' as const };
    const figure = (what: 'life' | 'run', text: string, ms: number) => {
      const most = MOST * USUAL[what];
      const value = total[what] / total.plain;
      return {
        id: `service-cost.${what}`,
        what: text,
        value,
        unit: 'x' as const,
        beside: [plain, { name: 'the service', value: ms, unit: 'ms' as const }],
        target: below(value, most, `<= ${most.toFixed(2)} x`),
        how: `${rounds} rounds in turn, ${context.driver} driver`,
      };
    };
    return [
      figure('life', 'processor time of the service for create + kill, of plain work', total.life / rounds),
      figure('run', '… for ten commands', total.run / rounds),
    ];
  },
};
