import type { LifecycleEventType } from '@svc/sdk';
import { UsageError } from '../../errors/cli-error.js';

const prefix = 'sandbox.lifecycle.';

/** Every event that there is, by its last word. */
export const eventNames = ['created', 'killed', 'paused', 'resumed', 'updated', 'checkpointed'] as const;

export const allEvents = eventNames.map((name) => `${prefix}${name}` as LifecycleEventType);

/** Reads names of events, `created` or `sandbox.lifecycle.created`; commas separate several. Pure. */
export function collectEvents(text: string, soFar: LifecycleEventType[] = []): LifecycleEventType[] {
  const names = text.split(',').map((name) => name.trim().replace(prefix, ''));
  for (const name of names) {
    if (!(eventNames as readonly string[]).includes(name))
      throw new UsageError(`There is no event "${name}".`, `Events: ${eventNames.join(', ')}.`);
  }
  return [...new Set([...soFar, ...names.map((name) => `${prefix}${name}` as LifecycleEventType)])];
}
