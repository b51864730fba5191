import { readFileSync } from 'node:fs';
import { arch, release } from 'node:os';
import type { Machine } from '../contract/transfers.js';

/** The machine of this process. Its processors are taken to be alike. */
export function readMachine(cpuinfo = '/proc/cpuinfo'): Machine {
  return { arch: arch(), kernel: release(), cpuFeatures: featuresOf(readFileSync(cpuinfo, 'latin1')) };
}

/** The line of the first processor: `flags` on x86, `Features` on ARM. */
function featuresOf(text: string): string[] {
  const line = /^(?:flags|Features)\s*:\s*(.*)$/m.exec(text)?.[1] ?? '';
  return line
    .split(' ')
    .filter((feature) => feature !== '')
    .sort();
}
