// Runs a program against a server of its own, which is deleted afterwards:
//
//   node examples/with-server.mjs [--driver linux|process] [--config FILE] [--runtime COMMAND] examples/quickstart.mjs
//
// --config adds settings of the server, as JSON.
// --runtime runs the program with something else than this Node: `bun`, `deno run -A`, another `node`.
// Without --driver: `linux` where the host can isolate sandboxes, else `process`, which isolates nothing, and says so.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';

const { values, positionals } = parseArgs({
  options: { driver: { type: 'string' }, config: { type: 'string' }, runtime: { type: 'string' } },
  allowPositionals: true,
});
const [program, ...programArguments] = positionals;
if (program === undefined) {
  console.error(
    'usage: node examples/with-server.mjs [--driver linux|process] [--config FILE] [--runtime COMMAND] PROGRAM.mjs',
  );
  process.exit(2);
}

const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-example-'));

/** The driver that was asked for, else the one that isolates where the host can. */
async function chooseDriver() {
  if (values.driver !== undefined) return values.driver;
  const findings = await checkHost();
  if (linuxDriverCanRun(findings)) return 'linux';
  const lacking = findings.filter(({ ok, neededFor }) => !ok && neededFor === 'driver');
  console.error(
    `${lacking.map(({ message }) => message).join('\n')}\n\nContinuing with the process driver: sandboxes are plain processes, NOT ISOLATED.\n`,
  );
  return 'process';
}

/** Starts the server's program. As root it becomes two processes: a small one of root, and the server as the user svc. */
async function startServer(driver) {
  const config = path.join(dataDir, 'config.json');
  const options = {
    apiPort: 0,
    sandboxPort: 0,
    operatorPort: false,
    logLevel: 'warn',
    destroySandboxesOnStop: true,
    tuning: { webhooks: { allowPrivateAddresses: true } },
    ...(values.config === undefined ? {} : JSON.parse(await readFile(values.config, 'utf8'))),
  };
  await writeFile(config, JSON.stringify(options));
  const main = fileURLToPath(new URL('../bin/svc-server.js', import.meta.resolve('@svc/server')));
  const child = spawn(
    process.execPath,
    [main, '--config', config, '--data-dir', dataDir, '--driver', driver],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      // Ctrl+C ends the program first.
      detached: true,
    },
  );
  const facts = {};
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'ready') break;
    const [name, value] = line.split(/\s{2,}/);
    facts[name] = value;
  }
  if (facts['platform API'] === undefined) throw new Error('The server did not start.');
  console.error(`Server: ${facts.driver}`);
  return {
    environment: {
      SVC_API_KEY: facts['API key'].split(' ')[0],
      SVC_API_URL: facts['platform API'],
      SVC_SANDBOX_URL: facts.sandboxes,
    },
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stopped.abort());

let server;
try {
  server = await startServer(await chooseDriver());
  const [runtime, ...runtimeArguments] = values.runtime?.split(' ') ?? [process.execPath];
  const child = spawn(runtime, [...runtimeArguments, program, ...programArguments], {
    stdio: 'inherit',
    env: { ...process.env, ...server.environment },
  });
  stopped.signal.addEventListener('abort', () => child.kill('SIGTERM'));
  process.exitCode = await new Promise((resolve) => {
    child.on('exit', (code, signal) => resolve(code ?? (signal === 'SIGTERM' ? 143 : 1)));
  });
} finally {
  await server?.stop();
  await rm(dataDir, { recursive: true, force: true });
}
