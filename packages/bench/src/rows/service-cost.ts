import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@svc/sdk';
import { below, type Row, runs } from '../row.js';
import { processorMsOfTree, processorMsWithEnded } from '../support/processes.js';
import { startServerChild } from '../support/server-child.js';

/** The service's time when this was last set right, in units of {@link plainWork}: a change may make it half as much again. */
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

const PROGRAMS = 40;
const REQUESTS = 400;

/**
 * Processor time of work that no service can do without, ms: {@link PROGRAMS} programs started and {@link REQUESTS} requests
 * answered by plain Node. What this machine makes slow, it makes slow here too.
 */
async function plainWork(): Promise<number> {
  const server = createServer((incoming, answer) => {
    incoming.resume();
    answer.end('{"ok":true}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  const before = processorMsWithEnded(process.pid);
  for (let count = 0; count < PROGRAMS; count++) await once(spawn('true', { stdio: 'ignore' }), 'exit');
  for (let count = 0; count < REQUESTS; count++) {
    const [answer] = await once(request({ port, agent, method: 'POST' }).end('{}'), 'response');
    await once(answer.resume(), 'end');
  }
  const used = processorMsWithEnded(process.pid) - before;
  agent.destroy();
  server.close();
  return used;
}
