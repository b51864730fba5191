import type { PtySize } from '@svc/sdk';

/** A program that runs for a session. */
export interface Running {
  /** Settles when the program has ended and its channel was told. */
  ended: Promise<void>;
  resize(size: PtySize): void;
  /** @param name without `SIG` */
  signal(name: string): Promise<void>;
  /** The client has left. */
  hangUp(): Promise<void>;
}
