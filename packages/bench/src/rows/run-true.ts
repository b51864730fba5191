import { spawn } from 'node:child_process';
import { Agent, type RequestOptions, request } from 'node:http';
import { Client, type Sandbox } from '@svc/sdk';
import { atLeast, below, type Row, runs } from '../row.js';
import { summarize } from '../statistics.js';
import { startServerChild } from '../support/server-child.js';
import { frame } from '../support/stub-server.js';
import { interleave, timed } from '../support/time.js';

interface Target {
  sandbox: Sandbox;
  url: string;
  token: string;
  agent: Agent;
}

/** Milliseconds of one request over a kept connection, answer read to its end. */
async function raw(
  { sandbox, url, token, agent }: Target,
  path: string,
  options: RequestOptions,
  body?: Buffer,
): Promise<number> {
  const headers = {
    ...(options.headers as Record<string, string>),
    'svc-sandbox-id': sandbox.id,
    'svc-sandbox-port': '49983',
    'x-access-token': token,
  };
  const { ms } = await timed(
    () =>
      new Promise<void>((resolve, reject) => {
        const call = request(`${url}${path}`, { ...options, agent, headers });
        call.on('response', (response) => {
          response.resume();
          response.on('end', resolve);
        });
        call.on('error', reject);
        call.end(body);
      }),
  );
  return ms;
}

/** The same call without an SDK. */
function rawStart(target: Target, cmd: string, args: string[]) {
  const headers = { 'content-type': 'application/connect+json', 'connect-protocol-version': '1' };
  const body = frame(0, { process: { cmd, args }, stdin: false });
  return () => raw(target, '/process.Process/Start', { method: 'POST', headers }, body);
}

/** The login shell as a child of this process: no sandbox, nothing to read, nobody to notify. */
async function spawnShell(): Promise<number> {
  const { ms } = await timed(
    () =>
      new Promise<void>((resolve, reject) => {
        const child = spawn('/bin/bash', ['-l', '-c', 'true'], { stdio: 'ignore', env: {} });
        child.on('exit', () => resolve());
        child.on('error', reject);
      }),
  );
  return ms;
}

const SIDE_BY_SIDE = 16;

/** Commands a second, of so many that each wait for their end before the next. */
async function perSecond(sandbox: Sandbox, each: number): Promise<number> {
  const { ms } = await timed(() =>
    Promise.all(
      Array.from({ length: SIDE_BY_SIDE }, async () => {
        for (let index = 0; index < each; index++) await sandbox.commands.run('true');
      }),
    ),
  );
  return (SIDE_BY_SIDE * each * 1000) / ms;
}

export const runTrue: Row = {
  id: 'run-true',
  about: "commands.run('true'), warm, end to end",
  async run(context) {
    await using server = await startServerChild({ driver: context.driver, poolSize: 0 });
    const client = new Client(server);
    const sandbox = await client.sandboxes.create();
    const read = await client.platform.GET('/sandboxes/{sandboxID}', {
      params: { path: { sandboxID: sandbox.id } },
    });
    const token = read.data?.envdAccessToken ?? '';
    const agent = new Agent({ keepAlive: true });
    const target = { sandbox, url: server.sandboxUrl, token, agent };
    const count = runs(context, 200, 5);
    const series = await interleave(
      count,
      {
        ours: async () => (await timed(() => sandbox.commands.run('true'))).ms,
        login: rawStart(target, '/bin/bash', ['-l', '-c', 'true']),
        bare: rawStart(target, 'true', []),
        spawned: spawnShell,
        way: () => raw(target, '/health', { method: 'GET' }),
      },
      10,
    );
    agent.destroy();
    const each = runs(context, 40, 1);
    await perSecond(sandbox, 2);
    const together = await perSecond(sandbox, each);
    await sandbox.kill();
    const ours = summarize(series.ours);
    return [
      {
        id: 'run-true',
        what: "commands.run('true'), warm, p50",
        value: ours.p50,
        unit: 'ms',
        beside: [
          { name: 'the same login shell by raw Connect', value: summarize(series.login).p50, unit: 'ms' },
          { name: '`true` without a shell by raw Connect', value: summarize(series.bare).p50, unit: 'ms' },
          { name: 'the way there and back alone', value: summarize(series.way).p50, unit: 'ms' },
          { name: 'a login shell as a child of Node', value: summarize(series.spawned).p50, unit: 'ms' },
        ],
        target: below(ours.p50, 3.5, '<= 3.5 ms'),
        how: `${count} runs, ${context.driver} driver; p95 ${ours.p95.toFixed(1)} ms`,
      },
      {
        id: 'run-true.together',
        what: `… ${SIDE_BY_SIDE} at once in one sandbox`,
        value: together,
        unit: '/s',
        beside: [{ name: 'one after another', value: 1000 / ours.p50, unit: '/s' }],
        target: atLeast(together, 600, '>= 600 /s'),
        how: `${SIDE_BY_SIDE * each} commands`,
      },
    ];
  },
};
