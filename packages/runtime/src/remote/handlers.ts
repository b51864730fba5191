import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { Driver as DriverService } from '../gen/driver/driver_pb.js';

type Impl = ServiceImpl<typeof DriverService>;

/** The context of a call beside its request: `signal` aborts when the connection is lost. */
export type CallContext = Pick<HandlerContext, 'signal'>;

/** The handlers of a driver's calls, over any transport. */
export type DriverHandlers = {
  [Name in keyof Impl]: (request: Parameters<Impl[Name]>[0], context: CallContext) => ReturnType<Impl[Name]>;
};

/** The answer of a call without a result: it was done. */
export async function done(work: () => Promise<unknown>): Promise<Record<never, never>> {
  await work();
  return {};
}
