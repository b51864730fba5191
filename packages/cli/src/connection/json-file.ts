import { readFile } from 'node:fs/promises';
import { writeAtomically } from '#support/write-atomically';

/** Writes a JSON file of this user's, all or nothing. */
export const writeJson = (file: string, value: object): Promise<void> =>
  writeAtomically(file, `${JSON.stringify(value, null, 2)}\n`);

/** Reads a JSON file; undefined when there is none, or it is no JSON. */
export async function readJson<Value>(file: string): Promise<Value | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Value;
  } catch {
    return undefined;
  }
}
