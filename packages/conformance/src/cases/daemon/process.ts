import assert from 'node:assert/strict';
import { eventually } from '@svc/support/eventually';
import { casesOf, check, type Draft } from '../../case.js';
import { unique } from '../../requests/samples.js';
import { call } from '../../wire/call.js';
import { run, startShell } from '../../wire/run.js';
import { controlCases } from './process/control.js';
import { inputCases } from './process/input.js';
import { readerCases } from './process/readers.js';
import { START } from './process/rpcs.js';
import { startCases } from './process/start.js';
import { streamInputCases } from './process/stream-input.js';

/** Output under load, and where else it is found. */
const outputCases: Draft[] = [
  check('a slow reader slows the program down and loses nothing', [START, 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const file = unique('done');
    const running = await startShell(sandbox, `head -c 50000000 /dev/zero; touch ~/${file}`);
    await running.next();
    // Nobody reads: 50 MB do not fit into what lies between, so the program must wait.
    const probe = await run(sandbox, `sleep 1; test -e ~/${file} && echo done || echo waits`);
    assert.equal(probe.stdout, 'waits\n');
    const { end } = await running.finish();
    assert.equal(end?.status, 'exit status 0');
  }),
  check(
    'what processes print is found in the log of the sandbox',
    ['getSandboxLogsV2', 'success'],
    async (target) => {
      const sandbox = await target.newSandbox();
      const word = unique('printed');
      await run(sandbox, `echo ${word}; echo ${word} >&2`);
      await eventually('both lines in the log', async () => {
        const answer = await call(target, 'getSandboxLogsV2', {
          path: { sandboxID: sandbox.sandboxId },
          query: { search: word },
        });
        const { logs } = answer.json() as { logs: { level: string; message: string }[] };
        return logs.some((one) => one.level === 'info') && logs.some((one) => one.level === 'error');
      });
    },
  ),
];

/** The Process service, line by line. */
export const processCases = casesOf('process', [
  ...startCases,
  ...readerCases,
  ...inputCases,
  ...controlCases,
  ...streamInputCases,
  ...outputCases,
]);
