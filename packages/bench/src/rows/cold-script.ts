import { fileURLToPath } from 'node:url';
import { below, type Row, runs } from '../row.js';
import { summarize } from '../statistics.js';
import { runNode } from '../support/node-process.js';
import { startStubServer } from '../support/stub-server.js';
import { interleave } from '../support/time.js';

const here = fileURLToPath(new URL('.', import.meta.url));

const OURS = `
const { Sandbox } = await import('@svc/sdk');
const sandbox = await Sandbox.create();
await sandbox.commands.run('true');
process.exit(0);`;

const E2B = `
const { Sandbox } = await import('e2b');
const sandbox = await Sandbox.create({ apiUrl: process.env.STUB, sandboxUrl: process.env.STUB, apiKey: 'e2b_' + '0'.repeat(40) });
await sandbox.commands.run('true');
process.exit(0);`;

const RAW = `
const url = process.env.STUB;
const created = await fetch(url + '/v2/sandboxes', { method: 'POST', headers: { 'X-API-Key': 'k', 'content-type': 'application/json' }, body: '{"templateID":"base"}' });
await created.json();
const payload = Buffer.from(JSON.stringify({ process: { cmd: '/bin/bash', args: ['-l', '-c', 'true'] }, stdin: false }));
const body = Buffer.alloc(5 + payload.length); body.writeUInt32BE(payload.length, 1); payload.copy(body, 5);
const started = await fetch(url + '/process.Process/Start', { method: 'POST', headers: { 'content-type': 'application/connect+json', 'connect-protocol-version': '1' }, body });
await started.arrayBuffer();
process.exit(0);`;

export const coldScript: Row = {
  id: 'cold-script',
  about: 'a whole process: import, create, run one command, against a server that answers at once',
  async run(context) {
    await using stub = await startStubServer();
    const env = { STUB: stub.url, SVC_API_URL: stub.url, SVC_SANDBOX_URL: stub.url, SVC_API_KEY: 'svc_stub' };
    const script = (code: string) => async () => (await runNode(code, { cwd: here, env })).ms;
    const count = runs(context, 15, 2);
    const series = await interleave(count, { raw: script(RAW), ours: script(OURS), e2b: script(E2B) });
    const raw = summarize(series.raw).p50;
    const ours = summarize(series.ours).p50;
    return [
      {
        id: 'cold-script',
        what: 'cold script: import, create, one command',
        value: ours,
        unit: 'ms',
        beside: [
          { name: 'raw fetch', value: raw, unit: 'ms' },
          { name: 'e2b', value: summarize(series.e2b).p50, unit: 'ms' },
        ],
        target: below(ours / raw, 1.35, '<= 1.35 x raw fetch'),
        how: `p50 of ${count} processes, stub server`,
      },
    ];
  },
};
