import { Agent, request } from 'node:http';
import { Client, type Sandbox } from '@svc/sdk';
import { below, type Row, runs } from '../row.js';
import { summarize } from '../statistics.js';
import { startServerChild } from '../support/server-child.js';
import { frame } from '../support/stub-server.js';
import { interleave, timed } from '../support/time.js';

/** The same call without an SDK: one Connect request over a kept connection, answer read to its end. */
function rawStart(
  sandbox: Sandbox,
  sandboxUrl: string,
  accessToken: string,
  cmd: string,
  args: string[],
  agent: Agent,
) {
  return async () => {
    const { ms } = await timed(
      () =>
        new Promise<void>((resolve, reject) => {
          const call = request(`${sandboxUrl}/process.Process/Start`, {
            method: 'POST',
            agent,
            headers: {
              'content-type': 'application/connect+json',
              'connect-protocol-version': '1',
              'svc-sandbox-id': sandbox.id,
              'svc-sandbox-port': '49983',
              'x-access-token': accessToken,
            },
          });
          call.on('response', (response) => {
            response.resume();
            response.on('end', resolve);
          });
          call.on('error', reject);
          call.end(frame(0, { process: { cmd, args }, stdin: false }));
        }),
    );
    return ms;
  };
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
    const count = runs(context, 200, 5);
    const series = await interleave(
      count,
      {
        ours: async () => (await timed(() => sandbox.commands.run('true'))).ms,
        login: rawStart(sandbox, server.sandboxUrl, token, '/bin/bash', ['-l', '-c', 'true'], agent),
        bare: rawStart(sandbox, server.sandboxUrl, token, 'true', [], agent),
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
        ],
        target: below(ours.p50, 5, '<= 5 ms'),
        how: `${count} runs, ${context.driver} driver; p95 ${ours.p95.toFixed(1)} ms`,
      },
    ];
  },
};
