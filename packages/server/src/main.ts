#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { loadConfig } from './config/load.js';
import type { ServerOptions } from './config/options.js';
import { installCrashGuard } from './process/crash-guard.js';
import { hardenProcess } from './process/harden-process.js';
import { receiveOrders } from './process/separate/orders.js';
import { planStart, type StartPlan } from './process/separate/plan-start.js';
import type { ServiceUser } from './storage/data/service-user.js';

const HELP = `Usage: svc-server [options]

  --config FILE         YAML or JSON file of options (SVC_CONFIG)
  --data-dir DIR        directory of the server (SVC_DATA_DIR)
  --host HOST           address to listen on (SVC_HOST), default 127.0.0.1
  --api-port PORT       platform API (SVC_API_PORT), default 3000
  --sandbox-port PORT   gateway (SVC_SANDBOX_PORT), default 3002
  --operator-port PORT  /metrics and /status, or "off" (SVC_OPERATOR_PORT), default 3003
  --domain DOMAIN       host names of sandboxes (SVC_SERVER_DOMAIN)
  --driver NAME         linux or process; process gives NO ISOLATION (SVC_DRIVER)
  --postgres-url URL    PostgreSQL instead of SQLite (SVC_POSTGRES_URL)
  --user NAME           user that the server becomes when it is started as root with the linux driver
                        (SVC_USER), default svc, which is made where it is missing
  --log-level LEVEL     silent, error, warn, info, debug (SVC_LOG_LEVEL)
  --help

Flags win over the environment, the environment over the file.
`;

async function main(): Promise<void> {
  const orders = await receiveOrders();
  if (orders !== undefined) return serve(orders.options, { kind: 'started-by-root', orders });
  const { values } = parseArgs({
    options: {
      config: { type: 'string' },
      'data-dir': { type: 'string' },
      host: { type: 'string' },
      'api-port': { type: 'string' },
      'sandbox-port': { type: 'string' },
      'operator-port': { type: 'string' },
      domain: { type: 'string' },
      driver: { type: 'string' },
      'postgres-url': { type: 'string' },
      'log-level': { type: 'string' },
      user: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  // Flags are read by the rules of the variables of the same meaning, so both accept the same values.
  const asEnv = await loadConfig({
    ...(values.config === undefined ? {} : { file: values.config }),
    env: {
      ...process.env,
      ...flagged('SVC_DATA_DIR', values['data-dir']),
      ...flagged('SVC_HOST', values.host),
      ...flagged('SVC_API_PORT', values['api-port']),
      ...flagged('SVC_SANDBOX_PORT', values['sandbox-port']),
      ...flagged('SVC_OPERATOR_PORT', values['operator-port']),
      ...flagged('SVC_SERVER_DOMAIN', values.domain),
      ...flagged('SVC_DRIVER', values.driver),
      ...flagged('SVC_POSTGRES_URL', values['postgres-url']),
      ...flagged('SVC_USER', values.user),
      ...flagged('SVC_LOG_LEVEL', values['log-level']),
    },
  });
  for (const problem of await hardenProcess()) process.stderr.write(`${problem}\n`);
  const plan = await planStart(asEnv);
  return plan.kind === 'as-root' ? serveAsRoot(asEnv, plan.user) : serve(asEnv, plan);
}

function flagged(name: string, value: string | undefined): Record<string, string> {
  return value === undefined ? {} : { [name]: value };
}

/** This process has the rights of root, and the server is another one. */
async function serveAsRoot(options: ServerOptions, user: ServiceUser): Promise<void> {
  const { runAsRoot } = await import('./process/separate/run-as-root.js');
  const { code, signal } = await runAsRoot(options, user);
  if (signal !== undefined)
    process.stderr.write(`The server was ended by ${signal}; sandboxes run on until the next start.\n`);
  process.exit(code);
}

async function serve(options: ServerOptions, plan: Exclude<StartPlan, { kind: 'as-root' }>): Promise<void> {
  const { startServer } = await import('./process/start-server.js');
  const { startSeparatedServer } = await import('./process/separate/start-separated.js');
  let stopping = false;
  if (plan.kind === 'alone' && plan.warning !== undefined) process.stderr.write(`${plan.warning}\n`);
  const separated = plan.kind === 'alone' ? undefined : await startSeparatedServer(options, plan);
  const server = separated ?? (await startServer(options));
  installCrashGuard({ log: server.context.log, end: () => server.stop() });
  void separated?.lost.then((error) => {
    if (stopping) return;
    process.stderr.write(`${error.message} The server ends; sandboxes run on until the next start.\n`);
    void server.stop().finally(() => process.exit(1));
  });
  const lines = [
    `platform API  ${server.apiUrl}`,
    `sandboxes     ${server.sandboxUrl}`,
    ...(server.operatorUrl === undefined ? [] : [`operator      ${server.operatorUrl}`]),
    `driver        ${server.driver.summary}`,
    ...(server.firstStart
      ? [`API key       ${server.apiKey} (shown once; also in credentials.json of the data directory)`]
      : []),
  ];
  const stop = () => {
    // A second signal does not wait.
    if (stopping) process.exit(130);
    stopping = true;
    void server.stop().then(() => process.exit(0));
  };
  // As other services do. Without TLS it ends the server, as the end of a terminal should.
  if (options.tls?.certificate !== undefined) process.on('SIGHUP', () => void server.reloadCertificates());
  process.once('SIGTERM', stop);
  process.on('SIGINT', stop);
  // Last: its reader may send a signal at once.
  process.stdout.write(`${lines.join('\n')}\nready\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
