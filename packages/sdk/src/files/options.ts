import type { RequestOptions } from '../core/call-context.js';

/** Options of a call about files. */
export interface FileOptions extends RequestOptions {
  /** User in whose home relative paths start and to whom new files belong. Default: the sandbox's default user. */
  user?: string | undefined;
}
