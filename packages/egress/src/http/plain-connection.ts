import { placeholdersOf } from '@svc/network-policy';
import type { Dialer } from '../dial/dialer.js';
import { describeFailure } from '../failures/dial-error.js';
import type { Flow } from '../flows/flow.js';
import { targetOf } from '../flows/target.js';
import type { HttpConnection } from './exchange.js';
import { encodeCredentials } from './headers.js';

/** A connection without TLS, each request of which is decided by its host. Placeholders are not for what everybody can read. */
export function plainConnection(flow: Flow, dialer: Dialer): HttpConnection {
  return {
    plan: async ({ host }) => {
      const admission = flow.admit(host);
      if (admission === undefined) return { kind: 'cut' };
      const { headers = {} } = flow.known.policy?.policy.rules[admission.transform ?? ''] ?? {};
      return {
        kind: 'forward',
        key: admission.dial === 'name' ? (admission.host ?? '') : '',
        set: Object.entries(headers)
          .filter(([, value]) => placeholdersOf(value)?.length === 0)
          .map(([name, value]) => [name, encodeCredentials(name, value)]),
        open: () => dialer.dial(flow.known, targetOf(flow, admission)),
      };
    },
    fail: (error) => flow.fail(describeFailure(error)),
    cut: () => flow.cut(),
  };
}
