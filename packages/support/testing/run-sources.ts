/**
 * Options of Node with which a child process runs this repository's TypeScript sources, siblings included: Vitest cannot
 * start one that may be killed.
 */
export const runSources = [
  '--conditions=@svc/source',
  '--import',
  new URL('./typescript-loader.mjs', import.meta.url).href,
];
