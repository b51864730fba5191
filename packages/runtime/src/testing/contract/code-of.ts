import { DriverError } from '../../contract/errors.js';

/** The code of the driver error that a call fails with; undefined when it does not. Other errors are thrown on. */
export async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    if (DriverError.is(error)) return error.code;
    throw error;
  }
}
