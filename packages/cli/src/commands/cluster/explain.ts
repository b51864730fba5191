import { DriverError } from '@svc/runtime';
import { CliError } from '../../errors/cli-error.js';

/** Runs what the cluster commands do; an operator reads the detail too. */
export async function explained<T>(task: () => Promise<T>, hint?: string): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (!DriverError.is(error)) throw error;
    const detail = [error.detail, hint].filter((part) => part !== undefined && part !== '').join('\n');
    throw new CliError(error.message, {
      code: error.code,
      cause: error,
      ...(detail === '' ? {} : { hint: detail }),
    });
  }
}
