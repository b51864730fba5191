import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { loadScript } from './load-script.js';

/** Digests of the parts' texts, set by the build: a cache of another build has another name. */
declare const DIGESTS: Readonly<Record<'core' | 'services', string>>;

/**
 * What the daemon uses of Node until its first program has ended. Node brings these modules compiled, and V8 takes that code
 * only while its flags are those that Node was built with: loaded after the flags below are set, they cost twice as much.
 */
const OF_NODE = [
  'node:child_process',
  'node:cluster',
  'node:crypto',
  'node:dns',
  'node:fs/promises',
  'node:http',
  'node:os',
  'node:perf_hooks',
  'node:stream/promises',
  'node:timers/promises',
];

const FLAGS = [
  // Compiled code stays: it is small, and a daemon that rested must answer as fast as one that did not.
  '--no-flush-bytecode',
  // Every sandbox pays for the daemon's memory: no room for garbage that grows to 32 MiB (heap-room.ts),
  '--semi-space-growth-factor=1',
  // no pages that are half empty,
  '--compact-on-every-full-gc',
  // and no optimizing compiler, whose own memory stays, before a stream of megabytes gives it something to do.
  ...optimizeLate(Number.parseInt(process.versions.v8, 10)),
  // Where V8 would copy its own code into each daemon, which happens before this line, the command line says it. Here it keeps
  // the code cache fitting for either.
  '--no-short-builtin-calls',
];

/** From Node 22 (V8 12) on, calls are counted instead of bytes of code; both are about eight times what V8 presets. */
function optimizeLate(v8: number): string[] {
  if (v8 < 12) return ['--interrupt-budget=1000000'];
  return [
    '--invocation-count-for-maglev=3200',
    '--invocation-count-for-maglev-osr=800',
    '--invocation-count-for-turbofan=24000',
    '--invocation-count-for-osr=6400',
  ];
}

/** What the core lets its loader call. */
interface Core {
  /** Runs as the command line says. */
  main(loadServices: () => unknown): void;
  /** Does once what the daemon is there for, so that all of it is compiled. */
  exercise(loadServices: () => unknown): Promise<void>;
}

for (const name of OF_NODE) require(name);
for (const flag of FLAGS) setFlagsFromString(flag);

const load = (part: keyof typeof DIGESTS) =>
  loadScript({
    program: join(__dirname, `${part}.cjs`),
    cache: join(__dirname, `${part}-${DIGESTS[part]}-${process.version}-${process.arch}.cache`),
    require,
  });

const core = load('core');
let services: ReturnType<typeof load> | undefined;
const { main, exercise } = core.exports as Core;
const loadServices = (): unknown => {
  services ??= load('services');
  return services.exports;
};

if (process.argv[2] === '--write-code-cache') void writeCaches();
else main(loadServices);

async function writeCaches(): Promise<void> {
  try {
    await exercise(loadServices);
    core.writeCache();
    services?.writeCache();
    process.exit(0);
  } catch (error) {
    process.stderr.write(`envd: cannot write the code cache: ${(error as Error).message}\n`);
    process.exit(1);
  }
}
