import type { components } from '@svc/platform';
import { isoTime } from '../../api/wire/time.js';
import type { SandboxTraffic } from '../sandbox-egress.js';

/** Renders the traffic of a sandbox for the API. */
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
