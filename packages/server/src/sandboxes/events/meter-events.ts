import type { UsageMeter } from '../../teams/usage/usage-meter.js';
import type { LiveSandboxes } from '../state/live.js';
import type { EventSink } from './sink.js';

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
