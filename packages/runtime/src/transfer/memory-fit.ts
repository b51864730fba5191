import type { Machine } from '../contract/transfers.js';

/** Features of x86 processors that programs use by themselves; the kernel's list has many that only it uses. */
const OF_PROGRAMS =
  /^(mmx|sse|ssse|pni|avx|amx|fma|f16c|bmi|sha|aes|vaes|pclmul|vpclmul|gfni|popcnt|abm|lzcnt|movbe|rdrand|rdseed|adx|xsave|fxsr|fsgsbase|clflush|clwb|cldemote|movdir|rtm|hle|cx8|cx16|cmov|lahf|rdtscp|rdpid|waitpkg|serialize|pku|erms|fsrm|3dnow|xop|tbm|prefetchw|enqcmd)/;

/**
 * The reason why memory that was stored on one machine cannot resume on another; undefined: none. Programs have looked at
 * what their processor can do, and use it: none of it may be missing. Kernels restore what older ones stored.
 * @returns a sentence fit for an end user.
 */
export function memoryMisfit(from: Machine, to: Machine): string | undefined {
  if (from.arch !== to.arch)
    return `it was stored on a processor of the kind ${from.arch}, and this machine has ${to.arch}`;
  const has = new Set(to.cpuFeatures);
  const missing = from.cpuFeatures.filter(
    (feature) => !has.has(feature) && (from.arch !== 'x64' || OF_PROGRAMS.test(feature)),
  );
  if (missing.length > 0) {
    const more = missing.length > 5 ? ` and ${missing.length - 5} more` : '';
    return `the processor of this machine does not have ${missing.slice(0, 5).join(', ')}${more}`;
  }
  if (compareReleases(to.kernel, from.kernel) < 0)
    return `the kernel of this machine (${to.kernel}) is older than the one that it was stored on (${from.kernel})`;
  return undefined;
}

/** By the first two numbers of a release: what follows changes nothing that programs see. */
function compareReleases(a: string, b: string): number {
  const [left, right] = [a, b].map(
    (release) => /^(\d+)\.(\d+)/.exec(release)?.slice(1).map(Number) ?? [0, 0],
  );
  return left![0]! - right![0]! || left![1]! - right![1]!;
}
