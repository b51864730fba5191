/** Does what a user does first, on a stock host: each step says how it ended, and the last line how many did so well. */
import { spawnSync } from 'node:child_process';
import { startServer } from '@svc/server';

let passed = 0;
let failed = 0;
/** Emulated processors take their time. */
const PATIENCE_MS = 900_000;

async function step(name, task) {
  const since = performance.now();
  const tell = (word, more) =>
    console.log(`${word} ${name}: ${more} (${Math.round(performance.now() - since)} ms)`);
  try {
    tell('ok  ', (await task()) ?? '');
    passed += 1;
  } catch (error) {
    tell(
      'FAIL',
      String(error?.message ?? error)
        .replaceAll('\n', ' | ')
        .slice(0, 600),
    );
    failed += 1;
  }
}

function expectTrue(condition, what) {
  if (!condition) throw new Error(what);
}

await step('doctor', () => {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['/opt/svc/packages/cli/bin/svc.js', 'server', 'doctor'],
    { encoding: 'utf8' },
  );
  expectTrue(status === 0, stdout + stderr);
  const line = /^ok +memory-container +(.*)$/m.exec(stdout)?.[1];
  expectTrue(line !== undefined, stdout);
  return line;
});

const server = await startServer({
  dataDir: '/var/lib/stock-host',
  apiPort: 0,
  sandboxPort: 0,
  operatorPort: false,
  logLevel: 'warn',
  destroySandboxesOnStop: true,
  driver: 'linux',
  trialStart: true,
  poolSize: 0,
});
Object.assign(process.env, {
  SVC_API_KEY: server.apiKey,
  SVC_API_URL: server.apiUrl,
  SVC_SANDBOX_URL: server.sandboxUrl,
});
const { Sandbox } = await import('@svc/sdk');

const COUNTER = `n=0; while :; do n=$((n+1)); echo $n > counter.new; mv counter.new counter; sleep 0.2; done`;
const countOf = async (sandbox) => Number((await sandbox.commands.run('cat counter')).stdout);

/** Waits until the counter of a sandbox has moved past `count`, which its memory alone knows. */
async function goesOn(sandbox, count) {
  const end = Date.now() + 120_000;
  for (let now = 0; now <= count; now = await countOf(sandbox))
    expectTrue(Date.now() < end, `the counter stands at ${now}, and was at ${count}`);
  return `went on after ${count}`;
}

let sandbox;
await step('create', async () => {
  sandbox = await Sandbox.create({ timeoutMs: PATIENCE_MS });
  await sandbox.commands.start(`bash -c '${COUNTER}'`);
});
await step('files', async () => {
  await sandbox.files.write('/tmp/file', 'one');
  await sandbox.files.write('/tmp/file', 'two');
  expectTrue((await sandbox.files.read('/tmp/file')) === 'two', 'the file has another content');
});
await step('pause and resume', async () => {
  const count = await countOf(sandbox);
  await sandbox.pause();
  await sandbox.resume();
  return goesOn(sandbox, count);
});
await step('fork', async () => {
  const count = await countOf(sandbox);
  for (const copy of await sandbox.fork({ count: 2, timeoutMs: PATIENCE_MS })) {
    if (!copy.ok) throw copy.error;
    await goesOn(copy.sandbox, count);
    await copy.sandbox.kill();
  }
  return goesOn(sandbox, count);
});
await step('snapshot', async () => {
  const count = await countOf(sandbox);
  const { snapshotId } = await sandbox.createSnapshot();
  const copy = await Sandbox.create(snapshotId, { timeoutMs: PATIENCE_MS });
  const told = await goesOn(copy, count);
  await copy.kill();
  return told;
});
await step('stop', () => server.stop());
console.log(`${passed} passed, ${failed} failed`);
process.exit(0);
