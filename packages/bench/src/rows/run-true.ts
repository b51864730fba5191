import { spawn } from 'node:child_process';
import { Agent, type RequestOptions, request } from 'node:http';
import { Client, type Sandbox } from '@svc/sdk';
import { below, type Row, runs } from '../row.js';
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

/** The login shell as a child of this process: no sandbox, nothing to read, nobody to tell. */
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
        target: below(ours.p50, 5, '<= 5 ms'),
        how: `${count} runs, ${context.driver} driver; p95 ${ours.p95.toFixed(1)} ms`,
      },
    ];
  },
};
