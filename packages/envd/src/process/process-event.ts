import type { ExitStatus } from './exit-status.js';
import type { OutputKind } from './program.js';

/** What readers of a process get, in order: data, then one end. */
export type ProcessEvent =
  | { readonly kind: 'data'; readonly output: OutputKind; readonly bytes: Uint8Array }
  | { readonly kind: 'end'; readonly status: ExitStatus };
