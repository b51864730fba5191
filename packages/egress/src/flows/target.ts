import type { DialTarget } from '../dial/dialer.js';
import type { Admission, Flow } from './flow.js';

/** Where to connect to for what was admitted. */
export function targetOf(flow: Flow, { dial, host }: Admission): DialTarget {
  const { address, port } = flow.ends;
  return { address, port, ...(dial === 'name' && host !== undefined ? { name: host } : {}) };
}
