import type { components } from '@svc/platform';
import type { SandboxTraffic } from '../context/sandbox-egress.js';
import { isoTime } from '../wire/time.js';

/** What left a sandbox, as the API shows it. */
export function trafficToWire({
  totals,
  destinations,
  dropped,
}: SandboxTraffic): components['schemas']['SandboxEgress'] {
  return {
    totals,
    destinations: destinations.map(({ host, address, lastAtMs, ...rest }) => ({
      ...rest,
      ...(host === undefined ? {} : { host }),
      ...(address === undefined ? {} : { address }),
      lastAt: isoTime(lastAtMs),
    })),
    dropped,
  };
}
