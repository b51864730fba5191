import { describeMissing } from '../../src/host/finding.js';
import { type HostFacts, readHostFacts } from '../../src/host/host-facts.js';
import { judgeHost } from '../../src/host/judge-host.js';
import { suffices } from '../../src/host/programs.js';

const facts: HostFacts = await readHostFacts();

/** Why tests of the linux driver cannot run here. Undefined: they can. */
export function linuxSkipReason(): string | undefined {
  const missing = describeMissing(judgeHost(facts));
  if (missing.length === 0) return undefined;
  console.warn(`Tests of the linux driver are skipped. ${missing.join(' ')}`);
  return missing.join(' ');
}

/** The same for tests of memory. */
export function memorySkipReason(): string | undefined {
  const reason = linuxSkipReason();
  if (reason !== undefined) return reason;
  if (suffices(facts.criuVersion)) return undefined;
  const missing = 'The private CRIU is missing (scripts/prepare-host.sh --criu).';
  console.warn(`Tests of memory are skipped. ${missing}`);
  return missing;
}

/** The same for sandboxes on gVisor's kernel. */
export function gvisorSkipReason(): string | undefined {
  const reason = linuxSkipReason();
  if (reason !== undefined) return reason;
  if (facts.runscVersion !== undefined) return undefined;
  const missing = 'The private gVisor is missing (scripts/prepare-host.sh --gvisor).';
  console.warn(`Tests of gVisor are skipped. ${missing}`);
  return missing;
}
