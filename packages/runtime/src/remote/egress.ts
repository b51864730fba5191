import { pipeline } from 'node:stream';
import { anyOf } from '#support/any-of';
import type { DriverEgress } from '../contract/driver.js';
import { driverClosed } from '../contract/errors.js';
import { openUpgraded, type TakeOver } from './upgrade.js';

// The root side does not read the egress process's data: a connection to it is an upgraded one, whose bytes are
// passed on unread.

export const EGRESS_PROTOCOL = 'svc-egress';
const CONNECT_TIMEOUT_MS = 10_000;

/** Joins upgraded connections of a served driver to its egress process. */
export function carryEgress(egress: DriverEgress): TakeOver {
  return async (signal) => {
    const there = await egress.connect({ signal });
    return (socket) => {
      pipeline(socket, there, () => undefined);
      pipeline(there, socket, () => undefined);
    };
  };
}

/** The egress process behind a served driver. @param ended aborts when the driver is closed here. */
export function remoteEgress(
  address: { socketPath: string; token: string },
  ended: AbortSignal,
): DriverEgress {
  return {
    connect: ({ signal } = {}) => {
      if (ended.aborted) return Promise.reject(driverClosed());
      const limits = [ended, AbortSignal.timeout(CONNECT_TIMEOUT_MS)];
      return openUpgraded(
        address,
        EGRESS_PROTOCOL,
        anyOf(signal === undefined ? limits : [signal, ...limits]),
      );
    },
  };
}
