import type { OperatorClient } from '@svc/platform/operator';
import type { PlatformCaller } from '../core/platform-call.js';

/** Typed calls to the operator port. */
export type OperatorCaller = PlatformCaller<OperatorClient>;
