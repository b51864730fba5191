import type { Client, Sandbox } from '@svc/sdk';
import type { OperatorClient } from '@svc/sdk/operator';
import { describeChoice, describeTarget, findConnection } from '../connection/find-connection.js';
import { CliError } from '../errors/cli-error.js';
import type { Io } from '../output/io.js';
import { Output } from '../output/output.js';

/** Options that every command takes. */
export interface CommonOptions {
  json?: boolean;
  color?: boolean;
  apiUrl?: string;
  sandboxUrl?: string;
  verbose?: boolean;
}

/** The tools of a command: clients, output, settings. */
export class Cli {
  readonly out: Output;
  readonly io: Io;
  /** Aborted by Ctrl+C and SIGTERM. */
  readonly signal: AbortSignal;
  readonly options: CommonOptions;

  constructor(options: CommonOptions, io: Io) {
    this.options = options;
    this.io = io;
    this.signal = io.listen();
    this.out = new Output(io, { json: options.json === true, color: options.color !== false });
  }

  get env(): Record<string, string | undefined> {
    return this.io.env;
  }

  /**
   * A client of the service that options, environment, settings or a local server name. When nobody named it and it is
   * not the only one, standard error names it.
   * @param use.destroys name it in any case when nobody chose it
   * @throws {CliError} without a key
   */
  async client(use: { destroys?: boolean } = {}): Promise<Client> {
    const { apiUrl, sandboxUrl } = this.options;
    const wanted = {
      ...(apiUrl === undefined ? {} : { apiUrl }),
      ...(sandboxUrl === undefined ? {} : { sandboxUrl }),
    };
    const [{ Client }, { connection, local }, { cliVersion }] = await Promise.all([
      import('@svc/sdk'),
      findConnection(this.env, wanted),
      import('./version.js'),
    ]);
    const { keyFrom: _key, addressFrom: _address, ...settings } = connection;
    const choice =
      describeChoice(connection, local) ?? (use.destroys ? describeTarget(connection, local) : undefined);
    if (choice !== undefined) this.out.note(choice);
    if (settings.apiKey === undefined) throw noKey(local.keyForbidden ? local.dataDir : undefined);
    return new Client({
      ...settings,
      userAgent: `svc-cli/${cliVersion}`,
      logger: loggerTo(this.io),
      ...(this.options.verbose ? { logLevel: 'debug' as const } : {}),
    });
  }

  /** A sandbox of {@link client}, by its id. @throws {NotFoundError} where there is none */
  async sandbox(id: string, use: { destroys?: boolean } = {}): Promise<Sandbox> {
    const client = await this.client(use);
    return client.sandboxes.get(id, { signal: this.signal });
  }

  /**
   * A client of the operator port that the environment names, or of the local server.
   * @param use.destroys name it in any case when nobody chose it
   * @throws {CliError} without a token
   */
  async operator(use: { destroys?: boolean } = {}): Promise<OperatorClient> {
    const [{ OperatorClient }, { findOperator }, { cliVersion }] = await Promise.all([
      import('@svc/sdk/operator'),
      import('../connection/find-operator.js'),
      import('./version.js'),
    ]);
    const { operatorUrl, token, found, doubtful } = await findOperator(this.env);
    if (found !== undefined && (use.destroys || doubtful)) this.out.note(found);
    return new OperatorClient({
      operatorUrl,
      token,
      userAgent: `svc-cli/${cliVersion}`,
      logger: loggerTo(this.io),
      ...(this.options.verbose ? { logLevel: 'debug' as const } : {}),
    });
  }
}

/** Log lines must not mix with results. */
function loggerTo({ stderr }: Io) {
  return Object.fromEntries(
    (['debug', 'info', 'warn', 'error'] as const).map((level) => [
      level,
      (message: string, fields?: object) => {
        const facts = fields && Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : '';
        stderr.write(`${level} ${message}${facts}\n`);
      },
    ]),
  ) as Record<'debug' | 'info' | 'warn' | 'error', (message: string, fields?: object) => void>;
}

function noKey(forbiddenIn: string | undefined): CliError {
  if (forbiddenIn !== undefined) {
    return new CliError(
      `The key of the local server is in ${forbiddenIn}/credentials.json, which you may not read.`,
      {
        code: 'no_key',
        hint: 'Run this with sudo, or set SVC_API_KEY to that key.',
      },
    );
  }
  return new CliError('There is no API key.', {
    code: 'no_key',
    hint: [
      'Get one in one of these ways:',
      '  svc server up            starts a server on this machine; its key is used',
      '  svc auth login           saves the key of a hosted service',
      '  export SVC_API_KEY=...   for this terminal',
    ].join('\n'),
  });
}
