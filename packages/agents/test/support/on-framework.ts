import { expect, it } from 'vitest';
import { installFramework } from '../../frameworks/install.mjs';
import { typeErrors } from './type-errors.js';

/** Runs the tests of `test/frameworks/NAME.ts` on a framework that is fetched for them, and checks types against its own. */
export async function onFramework(name: string, load: () => Promise<unknown>): Promise<void> {
  let directory: string;
  try {
    directory = await installFramework(name);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.warn(`tests of @svc/agents/${name}: skipped, ${reason}`);
    it.skip(`the adapter works on ${name}`, () => {});
    return;
  }
  await load();
  it(`the adapter, its tests and its documentation have the types of ${name} itself`, () => {
    expect(typeErrors(name, directory)).toBe('');
  });
}
