import type { SelectDriverOptions } from '@svc/runtime';

/** What the process that starts this one tells it. */
export interface RuntimeOrders {
  driver: Omit<SelectDriverOptions, 'log' | 'now'>;
  socketPath: string;
  token: string;
  /** Who may connect. */
  owner: { uid: number; gid: number };
}

/** What this process answers, one line of JSON. */
export type RuntimeAnswer =
  | { ready: true; why: string }
  | { ready: false; code: string | undefined; message: string; detail?: string | undefined };
