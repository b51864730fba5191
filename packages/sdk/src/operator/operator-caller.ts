import type { OperatorClient } from '@svc/platform/operator';
import type { PlatformCaller } from '../calls/platform-caller.js';

/** Typed calls to the operator port. */
export type OperatorCaller = PlatformCaller<OperatorClient>;
