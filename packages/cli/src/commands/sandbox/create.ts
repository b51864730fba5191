import type { CreateSandboxOptions } from '@svc/sdk';
import type { Command } from 'commander';
import { UsageError } from '../../errors/cli-error.js';
import { formatUntil } from '../../output/format.js';
import { withProgress } from '../../output/progress.js';
import { parseDuration } from '../../parse/duration.js';
import { collectList, collectPairs } from '../../parse/pairs.js';
import { act, leaf } from '../../program/leaf.js';
import { runShell } from './run-shell.js';
import { detailRecord } from './sandbox-record.js';

interface CreateFlags {
  timeout?: number;
  env?: Record<string, string>;
  metadata?: Record<string, string>;
  volume?: string[];
  internet: boolean;
  allowOut?: string[];
  denyOut?: string[];
  privatePorts?: boolean;
  onTimeout?: string;
  autoResume?: boolean;
  quiet?: boolean;
  shell?: boolean;
}

export function addCreate(sandbox: Command): void {
  leaf(sandbox, 'create [template]', 'create a sandbox; prints its id')
    .option('-t, --timeout <span>', 'time to live: 90s, 10m, 2h (default: 5m)', parseDuration)
    .option('-e, --env <NAME=value>', 'environment variable; repeatable', collectPairs)
    .option('-m, --metadata <key=value>', 'pair to find it by; repeatable', collectPairs)
    .option('-v, --volume <name:path>', 'volume to mount; repeatable', collectList)
    .option('--no-internet', 'no connections to the internet')
    .option(
      '--allow-out <destinations>',
      'allow only these and what --deny-out leaves; repeatable',
      collectList,
    )
    .option('--deny-out <cidrs>', 'deny these; 0.0.0.0/0 denies all; repeatable', collectList)
    .option('--private-ports', 'ports answer only with the token of the sandbox')
    .option('--on-timeout <what>', 'kill or pause when the time is over (default kill)')
    .option('--auto-resume', 'with --on-timeout pause: requests wake it up')
    .option('-s, --shell', 'open a shell in it, and kill it at the end of the shell')
    .option('-q, --quiet', 'print nothing but the id')
    .action(
      act(async (cli, template: string | undefined, flags: CreateFlags) => {
        const options = toCreateOptions(template, flags);
        const client = await cli.client();
        const { signal } = cli;
        const made = await withProgress(cli.out, 'Creating a sandbox', () =>
          client.sandboxes.create({ ...options, signal }),
        );
        if (flags.shell) {
          cli.out.note(`Sandbox ${made.id}; it is killed at the end of this shell.`);
          await runShell(cli, made, {}).finally(() => made.kill());
          return;
        }
        if (flags.quiet) return cli.out.line(made.id);
        const info = await made.info({ signal });
        cli.out.result(detailRecord(info), () => `${made.id}\n`);
        cli.out.note(`Ends ${formatUntil(info.endAt, Date.now())}. Next: svc sandbox shell ${made.id}`);
      }),
    );
}

/** The SDK's options. What was not said stays away. Pure. */
export function toCreateOptions(template: string | undefined, flags: CreateFlags): CreateSandboxOptions {
  const { timeout, env, metadata, volume, internet, allowOut, denyOut, privatePorts, onTimeout, autoResume } =
    flags;
  if (onTimeout !== undefined && onTimeout !== 'kill' && onTimeout !== 'pause')
    throw new UsageError(`--on-timeout is kill or pause, got "${onTimeout}".`);
  const lifecycle = {
    ...(onTimeout === undefined ? {} : { onTimeout: onTimeout as 'kill' | 'pause' }),
    ...(autoResume ? { autoResume: true } : {}),
  };
  const network = {
    ...(allowOut === undefined ? {} : { allowOut }),
    ...(denyOut === undefined ? {} : { denyOut }),
    ...(privatePorts ? { allowPublicTraffic: false } : {}),
  };
  return {
    ...(template === undefined ? {} : { template }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...(env === undefined ? {} : { envs: env }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(volume === undefined ? {} : { volumeMounts: toMounts(volume) }),
    ...(internet ? {} : { allowInternetAccess: false }),
    ...(Object.keys(network).length === 0 ? {} : { network }),
    ...(Object.keys(lifecycle).length === 0 ? {} : { lifecycle }),
  };
}

function toMounts(volumes: string[]): Record<string, string> {
  return Object.fromEntries(
    volumes.map((text) => {
      const at = text.indexOf(':');
      if (at <= 0 || text[at + 1] !== '/')
        throw new UsageError(
          `"${text}" is no mount.`,
          'Write NAME:/absolute/path, for example data:/mnt/data.',
        );
      return [text.slice(at + 1), text.slice(0, at)];
    }),
  );
}
