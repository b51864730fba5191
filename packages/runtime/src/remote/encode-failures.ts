import { ConnectError, type Interceptor } from '@connectrpc/connect';
import { toConnectError } from './wire.js';

/** Turns what a call throws into what the other side can read. */
export const encodeFailures: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (error) {
    throw error instanceof ConnectError ? error : toConnectError(error, request.signal.aborted);
  }
};
