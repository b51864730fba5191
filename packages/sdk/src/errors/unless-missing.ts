import { NotFoundError } from './not-found-errors.js';

/** Returns the result of a call, or undefined when it finds nothing. */
export async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (NotFoundError.is(error)) return undefined;
    throw error;
  }
}
