import type { DriverName } from '@svc/runtime/host';
import { type Command, Option } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { wholeNumber } from '../../parse/number.js';
import type { UpFlags } from './up-flags.js';

/** A list of its own: to load the drivers would take longer than most commands. */
const drivers = { linux: true, process: true, incus: true, auto: true } satisfies Record<
  DriverName | 'auto',
  true
>;
const port = wholeNumber('A port', 0, 65_535);
const portOrOff = (text: string): number | false => (text === 'off' ? false : port(text));

export function addUp(server: Command): void {
  leaf(server, 'up', 'start the service on this machine, until Ctrl+C')
    .option('-d, --detach', 'run in the background; `svc server down` stops it')
    .addOption(
      new Option(
        '--driver <name>',
        'linux isolates; process does NOT; incus uses a cluster; auto takes process where linux cannot run',
      ).choices(Object.keys(drivers)),
    )
    .option('--user <name>', 'user that the server becomes when root starts it (SVC_USER; default svc)')
    .option('--data-dir <dir>', 'where everything is kept (SVC_DATA_DIR)')
    .option('--config <file>', 'YAML or JSON file of server options (SVC_CONFIG)')
    .option('--host <address>', 'address to listen on (SVC_HOST; default 127.0.0.1)')
    .option('-p, --port <port>', 'platform API; 0 takes any (SVC_API_PORT; default 3000)', port)
    .option(
      '--sandbox-port <port>',
      'gateway to sandboxes; 0 takes any (SVC_SANDBOX_PORT; default 3002)',
      port,
    )
    .option(
      '--operator-port <port>',
      '/status and /metrics; 0 takes any, off opens none (SVC_OPERATOR_PORT; default 3003)',
      portOrOff,
    )
    .option('--domain <domain>', 'sandbox ports are <port>-<id>.<domain> (default svc.localhost)')
    .option('--public-api-url <url>', 'address of the API as clients see it, behind a proxy')
    .option('--public-sandbox-url <url>', 'address of the gateway as clients see it, behind a proxy')
    .option('--oci-runtime <name>', 'runc, crun, runsc, kata or a path (default: runc, with crun to start)')
    .addOption(
      new Option(
        '--base-root <name>',
        "what the template base stands on: debian, built once, or host, this machine's /usr (SVC_BASE_ROOT)",
      ).choices(['debian', 'host']),
    )
    .addOption(
      new Option(
        '--isolation <tier>',
        'isolation from this kernel: container, or gvisor, a kernel of their own (SVC_ISOLATION)',
      ).choices(['container', 'gvisor']),
    )
    .option('--no-trial-start', 'do not start a sandbox first to see that it can be (SVC_TRIAL_START=off)')
    .option('--pool-size <count>', 'sandboxes kept booted and waiting', wholeNumber('--pool-size', 0, 1000))
    .option(
      '--pool-memory <MiB>',
      'memory that waiting sandboxes may use when more are asked for (0: keep --pool-size)',
      wholeNumber('--pool-memory', 0, 1_048_576),
    )
    .option(
      '--max-sandboxes <count>',
      'sandboxes that run at once',
      wholeNumber('--max-sandboxes', 1, 1_000_000),
    )
    .option(
      '--team-max-sandboxes <count>',
      'sandboxes that one team runs at once (SVC_TEAM_MAX_SANDBOXES; default 500)',
      wholeNumber('--team-max-sandboxes', 0, 1_000_000),
    )
    .option(
      '--create-rate-limit <rate>',
      'requests that make sandboxes, per second and team, as 100 or 100:500 with a burst; off (SVC_CREATE_RATE_LIMIT; default 100:1000)',
    )
    .option('--rate-limit <rate>', 'other requests, per second and team (SVC_RATE_LIMIT; default 1000:5000)')
    .option(
      '--postgres-url <url>',
      'PostgreSQL instead of SQLite (SVC_POSTGRES_URL keeps it out of process lists)',
    )
    .option('--allow-private-webhooks', 'let webhooks go to this machine and its networks')
    .option(
      '--kill-sandboxes-on-stop',
      'end the sandboxes with the server; else the next start takes them over',
    )
    .addOption(
      new Option(
        '--log-level <level>',
        'least weight of log lines, on standard error (default error; detached: info)',
      ).choices(['silent', 'error', 'warn', 'info', 'debug']),
    )
    .action(
      act(async (cli, flags: UpFlags) => {
        if (flags.detach) await (await import('./start-detached.js')).startDetached(cli, flags);
        else await (await import('./serve.js')).serve(cli, flags);
      }),
    );
}
