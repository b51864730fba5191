import type { CreateSandboxOptions, IamOptions } from '@svc/sdk';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { formatUntil } from '../../output/format.js';
import { withProgress } from '../../output/progress.js';
import { parseDuration } from '../../parse/duration.js';
import { portNumber } from '../../parse/number.js';
import { collectList, collectPairs } from '../../parse/pairs.js';
import { addEgressOptions, type EgressFlags, toEgress } from './network.js';
import { runShell } from './run-shell.js';
import { detailRecord } from './show.js';

interface CreateFlags extends EgressFlags {
  timeout?: number;
  env?: Record<string, string>;
  metadata?: Record<string, string>;
  volume?: string[];
  internet: boolean;
  privatePorts?: boolean;
  httpsPort?: number[];
  maskHost?: string;
  onTimeout?: string;
  pauseFilesOnly?: boolean;
  autoResume?: boolean;
  iamToken?: Record<string, string>;
  mcp?: Record<string, unknown>;
  idempotencyKey?: string;
  name?: string;
  quiet?: boolean;
  shell?: boolean;
}

export function addCreate(sandbox: Command): void {
  const command = leaf(sandbox, 'create [template]', 'create a sandbox; prints its id')
    .option('-t, --timeout <span>', 'time to live: 90s, 10m, 2h (default: 5m)', parseDuration)
    .option('--name <name>', 'connect to the sandbox of this name, or create it; kept as metadata name')
    .option('-e, --env <NAME=value>', 'environment variable; repeatable', collectPairs)
    .option('-m, --metadata <key=value>', 'metadata to find it by; repeatable', collectPairs)
    .option('-v, --volume <name:path>', 'volume to mount; repeatable', collectList)
    .option('--no-internet', 'no connections to the internet');
  addEgressOptions(command)
    .option('--private-ports', 'ports answer only with the token of the sandbox')
    .option('--https-port <port>', 'port that speaks TLS itself; repeatable', collectPorts)
    .option('--mask-host <host>', 'Host header that programs see; ${PORT} stands for the port')
    .option(
      '--iam-token <name=audience>',
      'identity token for programs to send, as ${svc.identity.tokens.<name>}; repeatable',
      collectPairs,
    )
    .option('--on-timeout <what>', 'kill or pause at the end of its time to live (default: kill)')
    .option('--pause-files-only', 'with --on-timeout pause: save its files only')
    .option('--auto-resume', 'with --on-timeout pause: requests resume it')
    .option('--mcp <json>', 'settings of an MCP gateway, stored with the sandbox', parseObject)
    .option('--idempotency-key <key>', 'creating again with the same key gives the same sandbox')
    .option('-s, --shell', 'open a shell in it; without --name the sandbox is killed when the shell ends')
    .option('-q, --quiet', 'print only the id')
    .action(
      act(async (cli, template: string | undefined, flags: CreateFlags) => {
        const options = toCreateOptions(template, flags);
        if (flags.name !== undefined && flags.idempotencyKey !== undefined)
          throw new UsageError('--name finds the sandbox by itself: leave --idempotency-key out.');
        const client = await cli.client();
        const { signal } = cli;
        const made = await withProgress(cli.out, 'Creating a sandbox', () =>
          flags.name === undefined
            ? client.sandboxes.create({ ...options, signal })
            : client.sandboxes.getOrCreate({ ...options, name: flags.name, signal }),
        );
        if (flags.shell) {
          const stays = flags.name !== undefined;
          const what = stays
            ? 'stays when this shell ends, until its time is over'
            : 'is killed when this shell ends';
          cli.out.note(`Sandbox ${made.id}; it ${what}.`);
          await runShell(cli, made, {}).finally(() => stays || made.kill());
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
  const { timeout, env, metadata, volume, internet, privatePorts, httpsPort, maskHost } = flags;
  const { onTimeout, pauseFilesOnly, autoResume, iamToken, mcp, idempotencyKey } = flags;
  if (onTimeout !== undefined && onTimeout !== 'kill' && onTimeout !== 'pause')
    throw new UsageError(`--on-timeout must be kill or pause, got "${onTimeout}".`);
  const lifecycle = {
    ...(onTimeout === undefined ? {} : { onTimeout: onTimeout as 'kill' | 'pause' }),
    ...(pauseFilesOnly ? { keepMemory: false } : {}),
    ...(autoResume ? { autoResume: true } : {}),
  };
  const network = {
    ...toEgress(flags),
    ...(privatePorts ? { allowPublicTraffic: false } : {}),
    ...(httpsPort === undefined ? {} : { httpsPorts: httpsPort }),
    ...(maskHost === undefined ? {} : { maskRequestHost: maskHost }),
  };
  return {
    ...(template === undefined ? {} : { template }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...(env === undefined ? {} : { envs: env }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(volume === undefined ? {} : { volumeMounts: toMounts(volume) }),
    ...(internet ? {} : { allowInternetAccess: false }),
    ...(Object.keys(network).length === 0 ? {} : { network }),
    ...(iamToken === undefined ? {} : { iam: { tokens: toTokens(iamToken) } }),
    ...(mcp === undefined ? {} : { mcp }),
    ...(Object.keys(lifecycle).length === 0 ? {} : { lifecycle }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}

function toTokens(audiences: Record<string, string>): NonNullable<IamOptions['tokens']> {
  return Object.fromEntries(
    Object.entries(audiences).map(([name, audience]) => [name, { audience, tokenType: 'JWT-SVID' as const }]),
  );
}

function collectPorts(text: string, soFar: number[] = []): number[] {
  return [...soFar, ...collectList(text).map((port) => portNumber(port))];
}

function toMounts(volumes: string[]): Record<string, string> {
  return Object.fromEntries(
    volumes.map((text) => {
      const at = text.indexOf(':');
      if (at <= 0 || text[at + 1] !== '/')
        throw new UsageError(
          `"${text}" is not a mount.`,
          'Write NAME:/absolute/path, for example data:/mnt/data.',
        );
      return [text.slice(at + 1), text.slice(0, at)];
    }),
  );
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw new UsageError('--mcp must be a JSON object.');
}
