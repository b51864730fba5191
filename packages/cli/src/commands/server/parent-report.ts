import type { BannerFacts } from './banner.js';

/** Set for a server in the background: where its log goes. */
export const detachedVariable = 'SVC_DETACHED_LOG';

/**
 * Set for a server in the background: the words after `svc` that started it, as JSON. The environment that a process began with can be
 * read by its user for as long as it runs (`/proc/PID/environ`), so that an upgrade starts the next one the same way.
 */
export const detachedArgumentsVariable = 'SVC_DETACHED_ARGUMENTS';

/** The message of the server in the background to the command that started it. */
export type ParentMessage = { ready: BannerFacts };

/** Returns true for a server in the background. */
export function isDetached(): boolean {
  return process.env[detachedVariable] !== undefined;
}

/** The way to the command that started this server in the background; undefined when this is the foreground. */
export function reportToParent(): { logFile: string; ready: (facts: BannerFacts) => void } | undefined {
  const logFile = process.env[detachedVariable];
  if (logFile === undefined || process.send === undefined) return undefined;
  // The sandboxes' programs have no business with it.
  delete process.env[detachedVariable];
  delete process.env[detachedArgumentsVariable];
  return {
    logFile,
    ready: (facts) => {
      process.send?.({ ready: facts } satisfies ParentMessage, () => process.disconnect());
    },
  };
}
