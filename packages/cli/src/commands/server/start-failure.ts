import type { ServerOptions } from '@svc/server';
import { CliError } from '../../errors/cli-error.js';

/** Codes of the system for directories that cannot be made or written. */
const unusable = new Set(['EACCES', 'EPERM', 'ENOTDIR', 'EEXIST', 'EROFS', 'ENOSPC', 'ENAMETOOLONG']);

/** Turns what kept the server from starting into what to do about it. */
export function explainStartFailure(error: unknown, options: ServerOptions): unknown {
  const { code, port, name, message } = error as NodeJS.ErrnoException & { port?: number };
  if (name === 'StorageError')
    return new CliError(`${sentence(message)}.`, {
      code: 'storage',
      hint: message.includes('its schema is newer')
        ? 'docs/upgrading.md has the way back.'
        : options.storage?.kind === 'postgres'
          ? 'Check the address (SVC_POSTGRES_URL), and that the database lets this machine in.'
          : `Look at the space and the rights of ${options.dataDir}: df -h ${options.dataDir}`,
    });
  if (code === 'EADDRINUSE') return portTaken(port, options);
  if (code === 'EACCES' && port !== undefined)
    return new CliError(`Port ${port} may not be opened by this user.`, {
      hint: `Take one above 1023: ${optionFor(port, options)}`,
    });
  if (code === 'EADDRNOTAVAIL')
    return new CliError(`This machine has no address ${options.host}.`, {
      hint: 'Choose another with --host.',
    });
  if (code !== undefined && unusable.has(code))
    return new CliError(`The data directory ${options.dataDir} cannot be used: ${message}.`, {
      hint: 'Choose another with --data-dir, or run as its owner.',
    });
  if (name === 'CertificateError')
    return new CliError(`${sentence(message)}.`, {
      code: 'certificate',
      hint: 'The files are named by SVC_TLS_CERTIFICATE and SVC_TLS_KEY, or by tls in the file of --config.',
    });
  if (name === 'ServiceUserError' || name === 'DataDirectoryError')
    return new CliError(`${sentence(message)}.`, { code: 'start_failed' });
  if (name === 'DirectoryLockedError')
    return new CliError(`A server runs already: ${message}.`, {
      code: 'already_running',
      hint: '`svc server status` shows it, `svc server down` stops it. A second one needs --data-dir and --port of its own.',
    });
  return error;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function portTaken(port: number | undefined, options: ServerOptions): CliError {
  const what = { api: 'platform API', sandbox: 'gateway to sandboxes', operator: 'operator port' }[
    roleOf(port, options)
  ];
  return new CliError(`Port ${port} (${what}) is taken by another program.`, {
    code: 'port_taken',
    hint: [
      `Take another:            svc server up ${optionFor(port, options)}`,
      `See who has it:          ss -ltnp 'sport = :${port}'`,
      'If that is a svc server: svc server status',
    ].join('\n'),
  });
}

function roleOf(port: number | undefined, options: ServerOptions): 'api' | 'sandbox' | 'operator' {
  if (port === (options.sandboxPort ?? 3002)) return 'sandbox';
  if (port === (options.operatorPort ?? 3003)) return 'operator';
  return 'api';
}

function optionFor(port: number | undefined, options: ServerOptions): string {
  const option = { api: '--port', sandbox: '--sandbox-port', operator: '--operator-port' }[
    roleOf(port, options)
  ];
  return `${option} ${(port ?? 3000) < 1024 ? 3000 : (port ?? 3000) + 100}`;
}
