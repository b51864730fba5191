import { CliError } from '../../errors/cli-error.js';

/** Turns what ended a backup or a restore into what to do about it. An interruption stays what it is. */
export function explainBackupFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const { name, message, code, hint, detail } = error as Partial<NodeJS.ErrnoException> & {
    hint?: string;
    detail?: string;
  };
  const text = message ?? String(error);
  switch (name) {
    case 'BackupError':
      return new CliError(text, { code: 'backup', ...(hint === undefined ? {} : { hint }) });
    case 'DriverError':
      return new CliError(text, { code: 'backup', ...(detail ? { hint: detail } : {}) });
    case 'ServiceUserError':
    case 'DataDirectoryError':
      return new CliError(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`, { code: 'backup' });
    case 'DirectoryLockedError':
      return new CliError(`Another restore works there: ${text}.`, { code: 'backup' });
  }
  if (code === 'ENOSPC')
    return new CliError(`There is no room left: ${text}.`, {
      code: 'backup',
      hint: 'Free some, or name a file or a directory on another file system.',
    });
  return error;
}
