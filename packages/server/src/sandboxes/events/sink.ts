import type { Ids } from '../../config/ids.js';
import { toJson } from '../../storage/json.js';
import type { Tx } from '../../storage/schema.js';
import type { UsageMeter } from '../../teams/usage/usage-meter.js';
import type { LiveSandboxes } from '../state/live.js';

export type LifecycleEventType =
  | 'sandbox.lifecycle.created'
  | 'sandbox.lifecycle.killed'
  | 'sandbox.lifecycle.paused'
  | 'sandbox.lifecycle.resumed'
  | 'sandbox.lifecycle.updated'
  | 'sandbox.lifecycle.checkpointed';

export interface LifecycleEvent {
  type: LifecycleEventType;
  teamId: string;
  sandboxId: string;
  executionId: string;
  templateId: string;
  buildId: string;
  /** `event_data` of the payload. */
  data: Record<string, unknown>;
}

/** The outbox: events are rows of the transaction that changes the state. */
export interface EventSink {
  emit(tx: Tx, event: LifecycleEvent): Promise<void>;
  /** Called after the commit: new rows may be there. */
  committed(): void;
  /** Registers who wants to know; gives the function that ends it. */
  onCommitted(listener: () => void): () => void;
}

export function createEventSink(ids: Ids, now: () => number): EventSink {
  const listeners = new Set<() => void>();
  return {
    async emit(tx, event) {
      await tx
        .insertInto('events')
        .values({
          id: ids.uuid(),
          team_id: event.teamId,
          sandbox_id: event.sandboxId,
          execution_id: event.executionId,
          template_id: event.templateId,
          build_id: event.buildId,
          type: event.type,
          at: now(),
          data: toJson(event.data),
          dispatched: 0,
        })
        .execute();
    },
    committed() {
      for (const listener of listeners) listener();
    },
    onCommitted(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** An outbox of events from which the meter learns when sandboxes begin and end to run. */
export function meterEvents(events: EventSink, meter: UsageMeter, sandboxes: LiveSandboxes): EventSink {
  return {
    ...events,
    async emit(tx, event) {
      await events.emit(tx, event);
      const { type, teamId, sandboxId } = event;
      if (type === 'sandbox.lifecycle.created') meter.created(teamId);
      if (type === 'sandbox.lifecycle.created' || type === 'sandbox.lifecycle.resumed') {
        const row = sandboxes.get(sandboxId)?.row;
        if (row !== undefined) meter.runs({ id: sandboxId, teamId, memoryMiB: row.memory_mb });
      }
      if (type === 'sandbox.lifecycle.killed' || type === 'sandbox.lifecycle.paused') meter.ended(sandboxId);
    },
  };
}
