import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const loader = ['--import', new URL('./typescript-loader.mjs', import.meta.url).href];
/** Options of Node with which it runs this repository's TypeScript sources, siblings included. */
export const runSources = ['--conditions=@svc/source', ...loader];
/** True when programs run as they were built. The gate asks for it, since it has just built: reading sources costs a second of each start. */
export const built = process.env.SVC_TEST_BUILT === '1';

/** Options of Node for TypeScript that only tests have: siblings are read as built, or as sources, like those of `childProgram`. */
export const runTestCode = built ? loader : runSources;

export interface ChildProgram {
  /** Options of Node. */
  options: string[];
  file: string;
}

/**
 * Returns the way in which Node runs a program of this repository in a process that a test may kill: from its source, siblings included, so
 * that there is nothing to build first; with `SVC_TEST_BUILT=1` from its build and those of its siblings.
 * @param source the program's file, such as `…/src/main.ts`
 */
export function childProgram(source: URL): ChildProgram {
  if (!built) return { options: runSources, file: fileURLToPath(source) };
  const output = fileURLToPath(source).replace(/^(.*)\/src\/(.+)\.ts$/, '$1/dist/$2.js');
  // A program that only tests have is never built: it runs from its source, on the builds of its siblings.
  return existsSync(output)
    ? { options: [], file: output }
    : { options: runTestCode, file: fileURLToPath(source) };
}
