// Runs a program against a server of its own, which is gone afterwards:
//
//   node examples/with-server.mjs [--driver linux|process] [--runtime COMMAND] examples/quickstart.mjs
//
// --runtime runs the program with something else than this Node: `bun`, `deno run -A`, another `node`.
// Without --driver: `linux` where the host can isolate sandboxes, else `process`, which isolates nothing, and says so.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startServer } from '@svc/server';

const { values, positionals } = parseArgs({
  options: { driver: { type: 'string' }, runtime: { type: 'string' } },
  allowPositionals: true,
});
const [program, ...programArguments] = positionals;
if (program === undefined) {
  console.error(
    'usage: node examples/with-server.mjs [--driver linux|process] [--runtime COMMAND] PROGRAM.mjs',
  );
  process.exit(2);
}

const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-example-'));
const common = {
  dataDir,
  apiPort: 0,
  sandboxPort: 0,
  operatorPort: false,
  logLevel: 'warn',
  destroySandboxesOnStop: true,
  tuning: { webhooks: { allowPrivateAddresses: true } },
};

async function start(driver) {
  try {
    return await startServer({ ...common, ...(driver === undefined ? {} : { driver }) });
  } catch (error) {
    if (driver !== undefined || error.code !== 'unsupported') throw error;
    console.error(
      `${error.message}\n\nGoing on with the process driver: sandboxes are plain processes, NOT ISOLATED.\n`,
    );
    return startServer({ ...common, driver: 'process' });
  }
}

const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stopped.abort());

let server;
try {
  server = await start(values.driver);
  console.error(`Server: ${server.driver.summary}`);
  const [runtime, ...runtimeArguments] = values.runtime?.split(' ') ?? [process.execPath];
  const child = spawn(runtime, [...runtimeArguments, program, ...programArguments], {
    stdio: 'inherit',
    env: {
      ...process.env,
      SVC_API_KEY: server.apiKey,
      SVC_API_URL: server.apiUrl,
      SVC_SANDBOX_URL: server.sandboxUrl,
    },
  });
  stopped.signal.addEventListener('abort', () => child.kill('SIGTERM'));
  process.exitCode = await new Promise((resolve) => {
    child.on('exit', (code, signal) => resolve(code ?? (signal === 'SIGTERM' ? 143 : 1)));
  });
} finally {
  await server?.stop();
  await rm(dataDir, { recursive: true, force: true });
}
