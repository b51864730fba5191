import { setTimeout as sleep } from 'node:timers/promises';
import { DriverError } from '@svc/runtime/contract';

/** Time for the process of a killed server to end, ms. */
const PREDECESSOR_MS = 30_000;

/** Another process like this one may still be closing the driver: that of a server which was killed. */
export async function afterPredecessor<T>(open: () => Promise<T>): Promise<T> {
  for (const since = performance.now(); ; ) {
    try {
      return await open();
    } catch (error) {
      const busy = DriverError.is(error) && error.code === 'busy';
      if (!busy || performance.now() - since > PREDECESSOR_MS) throw error;
      await sleep(100);
    }
  }
}
