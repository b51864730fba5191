import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { processorMsWithEnded } from './processes.js';

const PROGRAMS = 40;
const REQUESTS = 400;

/**
 * Processor time of work that no service can do without, ms: {@link PROGRAMS} programs started and {@link REQUESTS} requests
 * answered by plain Node. What this machine makes slow, it makes slow here too.
 */
export async function plainWork(): Promise<number> {
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
