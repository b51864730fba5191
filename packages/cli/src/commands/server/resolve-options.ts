import { loadConfig, optionsOfFlags, type ServerOptions } from '@svc/server';
import { CliError, UsageError } from '../../errors/cli-error.js';
import type { UpFlags } from './up-flags.js';

/** The server's options: flags over environment over the file. The driver is the desired one. */
export async function resolveServerOptions(
  flags: UpFlags,
  env: Record<string, string | undefined>,
): Promise<ServerOptions> {
  const { config: file, driver, ...given } = flags;
  const desired = driver === undefined || driver === 'auto' ? {} : { driver };
  const loaded = await loadConfig({
    ...(file === undefined ? {} : { file }),
    env,
    flags: readFlags({ ...given, ...desired }),
  }).catch((error: Error) => {
    throw new CliError(`The options of the server make no sense: ${error.message}.`, { code: 'config' });
  });
  // A terminal shows what matters to who sits there; a log file is for finding out later.
  return {
    logLevel: env.SVC_DETACHED_LOG === undefined ? 'error' : 'info',
    trialStart: true,
    ...loaded,
  };
}

function readFlags(flags: object): Partial<ServerOptions> {
  try {
    return optionsOfFlags(flags);
  } catch (error) {
    throw new UsageError(`${(error as Error).message}.`);
  }
}

/** A remark on listening beyond this machine: nothing there is encrypted. Undefined when there is none to make. */
export function exposureWarning({
  host = '127.0.0.1',
  operatorPort,
  tls,
}: ServerOptions): string | undefined {
  if (isLoopback(host)) return undefined;
  if (tls?.certificate !== undefined)
    return operatorPort === false
      ? undefined
      : `Listening on ${host}: the operator port is not encrypted, and shows its figures to anybody (--operator-port off).`;
  const operator =
    operatorPort === false ? '' : ' The operator port shows its figures to anybody (--operator-port off).';
  return `Listening on ${host}: keys and data cross the network unencrypted. Put a TLS proxy in front of it.${operator}`;
}

/** Returns true for an address that this machine alone reaches. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
