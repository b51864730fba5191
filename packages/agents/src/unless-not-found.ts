import { FileNotFoundError } from '@svc/sdk';

/** The result, or null where there is no such file: frameworks ask for that, the SDK throws. */
export async function unlessNotFound<Result>(asked: Promise<Result>): Promise<Result | null> {
  try {
    return await asked;
  } catch (error) {
    if (FileNotFoundError.is(error)) return null;
    throw error;
  }
}
