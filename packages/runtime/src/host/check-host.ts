import type { Finding } from './finding.js';
import { type HostOptions, readHostFacts } from './host-facts.js';
import { judgeHost } from './judge-host.js';

/** Looks what of the `linux` driver's needs this host has. Changes nothing. */
export async function checkHost(options: HostOptions = {}): Promise<Finding[]> {
  return judgeHost(await readHostFacts(options));
}
