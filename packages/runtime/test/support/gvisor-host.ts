import type { DriverOptions } from '../../src/contract.js';
import { createLinuxDriver } from '../../src/linux-driver/create-linux-driver.js';
import { readGaps } from '../../src/testing/gaps.js';
import { envdProgram } from './envd-program.js';
import { gvisorSkipReason } from './linux-host.js';

/** The tests that sandboxes on gVisor's kernel do not pass. */
export const gvisorGaps = readGaps(new URL('./gvisor-gaps.txt', import.meta.url));

/** A driver whose sandboxes have gVisor's kernel. */
export function gvisorDriver({ dataDir }: Pick<DriverOptions, 'dataDir'>, storeSizeMiB = 4096) {
  return createLinuxDriver({ dataDir, daemon: envdProgram, storeSizeMiB, isolation: 'gvisor' });
}

/** Why the whole suites do not run on gVisor. Undefined: they do. */
export function wholeGvisorSkipReason(): string | undefined {
  const reason = gvisorSkipReason();
  if (reason !== undefined || process.env.SVC_GVISOR === '1') return reason;
  console.warn('The whole suites on gVisor are skipped. Set SVC_GVISOR=1.');
  return 'SVC_GVISOR=1 is not set';
}
