import { loadConfig, parseRateLimit, type ServerOptions } from '@svc/server';
import { CliError, UsageError } from '../../errors/cli-error.js';
import { isLoopback } from './is-loopback.js';
import type { UpFlags } from './up-flags.js';

/** The server's options: flags over environment over the file. The driver is the desired one. */
export async function resolveServerOptions(
  flags: UpFlags,
  env: Record<string, string | undefined>,
): Promise<ServerOptions> {
  const {
    config: file,
    driver,
    port,
    postgresUrl,
    allowPrivateWebhooks,
    killSandboxesOnStop,
    teamMaxSandboxes,
    rateLimit,
    createRateLimit,
    ...rest
  } = flags;
  const loaded = await loadConfig({
    ...(file === undefined ? {} : { file }),
    env,
    flags: {
      ...pick(rest, [
        'dataDir',
        'host',
        'sandboxPort',
        'operatorPort',
        'domain',
        'publicApiUrl',
        'publicSandboxUrl',
      ]),
      ...pick(rest, ['ociRuntime', 'baseRoot', 'isolation', 'user', 'poolSize', 'maxSandboxes', 'logLevel']),
      ...(rest.trialStart === false ? { trialStart: false } : {}),
      ...(port === undefined ? {} : { apiPort: port }),
      ...(driver === undefined || driver === 'auto' ? {} : { driver }),
      ...(postgresUrl === undefined ? {} : { storage: { kind: 'postgres', url: postgresUrl } }),
      ...(teamMaxSandboxes === undefined ? {} : { teamLimits: { maxConcurrentSandboxes: teamMaxSandboxes } }),
      rateLimits: rateLimitsOf({ rateLimit, createRateLimit }),
      ...(killSandboxesOnStop ? { destroySandboxesOnStop: true } : {}),
    },
  }).catch((error: Error) => {
    throw new CliError(`The options of the server make no sense: ${error.message}.`, { code: 'config' });
  });
  const tuning = allowPrivateWebhooks
    ? { ...loaded.tuning, webhooks: { ...loaded.tuning?.webhooks, allowPrivateAddresses: true } }
    : loaded.tuning;
  // A terminal shows what matters to who sits there; a log file is for finding out later.
  return {
    logLevel: env.SVC_DETACHED_LOG === undefined ? 'error' : 'info',
    trialStart: true,
    ...loaded,
    ...(tuning === undefined ? {} : { tuning }),
  };
}

function rateLimitsOf(flags: {
  rateLimit: string | undefined;
  createRateLimit: string | undefined;
}): NonNullable<ServerOptions['rateLimits']> {
  try {
    return {
      ...(flags.rateLimit === undefined ? {} : { general: parseRateLimit(flags.rateLimit, '--rate-limit') }),
      ...(flags.createRateLimit === undefined
        ? {}
        : { create: parseRateLimit(flags.createRateLimit, '--create-rate-limit') }),
    };
  } catch (error) {
    throw new UsageError(`${(error as Error).message}.`);
  }
}

/** A remark on listening beyond this machine: nothing there is encrypted. Undefined when there is none to make. */
export function exposureWarning({ host = '127.0.0.1', operatorPort }: ServerOptions): string | undefined {
  if (isLoopback(host)) return undefined;
  const operator =
    operatorPort === false ? '' : ' The operator port shows its figures to anybody (--operator-port off).';
  return `Listening on ${host}: keys and data cross the network unencrypted. Put a TLS proxy in front of it.${operator}`;
}

function pick<Options extends object, Name extends keyof Options>(
  options: Options,
  names: readonly Name[],
): Partial<Pick<Options, Name>> {
  return Object.fromEntries(
    names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  ) as Partial<Pick<Options, Name>>;
}
