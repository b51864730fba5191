import { join } from 'node:path';
import { CliError } from '../errors/cli-error.js';
import { serverDirectory } from './directories.js';
import { findDataDirectory } from './local-servers.js';
import { readServerFile } from './read-server-file.js';
import { readRunFile } from './run-file.js';

/** Where the operator port is, and what opens it. */
export interface OperatorConnection {
  operatorUrl: string;
  token: string;
  /** The local server that was found without being named, for people to read; undefined when one was named. */
  found: string | undefined;
  /** True when other servers run on this machine, so that another one might have been meant. */
  doubtful: boolean;
}

/**
 * Finds the operator port: the environment, else the local server that runs. The token of a local server goes to that
 * server alone.
 * @throws {CliError} when there is none, or its token cannot be read
 */
export async function findOperator(env: Record<string, string | undefined>): Promise<OperatorConnection> {
  const { dataDir, others } = await findDataDirectory(env);
  const found = await readRunFile(dataDir);
  const local = found?.alive === true ? found.run : undefined;
  const operatorUrl = env.SVC_OPERATOR_URL || local?.operatorUrl;
  if (operatorUrl === undefined) throw noOperatorPort(local !== undefined, dataDir);
  const isLocal = local?.operatorUrl !== undefined && sameOrigin(operatorUrl, local.operatorUrl);
  const token = env.SVC_OPERATOR_TOKEN || (isLocal ? await readToken(dataDir) : undefined);
  if (token === undefined) {
    throw new CliError(`There is no operator token for ${operatorUrl}.`, {
      code: 'no_operator_token',
      hint: "Set SVC_OPERATOR_TOKEN: the token stands in operator-token in that server's data directory.",
    });
  }
  return {
    operatorUrl,
    token,
    found: env.SVC_OPERATOR_URL
      ? undefined
      : `On the operator port ${operatorUrl} (server of this machine, ${dataDir}):`,
    doubtful: others.length > 0,
  };
}

async function readToken(dataDir: string): Promise<string | undefined> {
  const file = join(serverDirectory(dataDir), 'operator-token');
  const { text } = await readServerFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return { text: '' };
    throw new CliError(`The operator token of the local server is in ${file}, which you may not read.`, {
      code: 'no_operator_token',
      hint: 'Run this with sudo, or set SVC_OPERATOR_TOKEN.',
    });
  });
  return text.trim() || undefined;
}

function noOperatorPort(runs: boolean, dataDir: string): CliError {
  return runs
    ? new CliError(`The server in ${dataDir} has no operator port.`, {
        code: 'no_operator_port',
        hint: 'Start it without `--operator-port off`.',
      })
    : new CliError('No server runs here, and no operator port is named.', {
        code: 'no_operator_port',
        hint: 'Set SVC_OPERATOR_URL and SVC_OPERATOR_TOKEN, or start a server: `svc server up`.',
      });
}

function sameOrigin(a: string, b: string): boolean {
  const origin = (text: string) =>
    URL.canParse(text) ? new URL(text).origin.replace('//localhost', '//127.0.0.1') : text;
  return origin(a) === origin(b);
}
