import { Client, type Sandbox } from '@svc/sdk';
import { below, type Row, runs } from '../row.js';
import { summarize } from '../statistics.js';
import { forkUntil } from '../support/sandboxes.js';
import { startServerChild } from '../support/server-child.js';
import { timed } from '../support/time.js';

/** Touches all of its memory, then answers requests. */
const PROGRAM = `
import http.server
memory = bytearray(MIB << 20)
for at in range(0, len(memory), 4096): memory[at] = 1
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        self.wfile.write(str(memory[0]).encode())
    def log_message(self, *_): pass
http.server.HTTPServer(("0.0.0.0", 8000), Answer).serve_forever()
`;

/** Waits until the program answers. */
async function answered(sandbox: Sandbox): Promise<void> {
  const response = await sandbox.fetch(8000, '/');
  if ((await response.text()) !== '1') throw new Error(`the program answered ${response.status}`);
}

export const bigProgram: Row = {
  id: 'big-program',
  about: 'fork and resume of a program with 400 MB of touched memory',
  async run(context) {
    if (context.driver !== 'linux') return { skipped: 'the process driver cannot fork memory' };
    const mib = runs(context, 400, 40);
    const count = runs(context, 5, 1);
    await using server = await startServerChild({ driver: 'linux', poolSize: 0 });
    const client = new Client(server);
    const sandbox = await client.sandboxes.create({ timeoutMs: 600_000 });
    await sandbox.files.write('program.py', PROGRAM.replace('MIB', String(mib)));
    await sandbox.commands.start('python3 program.py');
    await sandbox.waitForPort(8000);
    const forks = (count: number) => forkUntil(sandbox, { count, timeoutMs: 120_000 }, answered);
    const [one, eight, resumed]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < count; round++) {
      one.push(await forks(1));
      eight.push(await forks(8));
      await sandbox.pause();
      const { ms } = await timed(async () => {
        await sandbox.resume({ timeoutMs: 600_000 });
        await answered(sandbox);
      });
      resumed.push(ms);
    }
    await sandbox.kill();
    const how = `${count} rounds, until the program answers`;
    const figure = (id: string, what: string, series: number[], most: number, text: string) => {
      const value = summarize(series).p50;
      return { id, what, value, unit: 'ms' as const, beside: [], target: below(value, most, text), how };
    };
    return [
      figure('big-program.fork', `a program of ${mib} MiB: one fork`, one, 200, '<= 200 ms'),
      figure('big-program.fork.8', '… eight forks', eight, 1_200, '<= 1.2 s'),
      figure('big-program.resume', '… resume from disk', resumed, 250, '<= 250 ms'),
    ];
  },
};
