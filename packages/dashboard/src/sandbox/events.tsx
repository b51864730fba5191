import type { LifecycleEvent } from '@svc/sdk';
import { clientOf } from '../connection/clients.js';
import { formatBytes } from '../format/numbers.js';
import { formatDuration, formatTime } from '../format/times.js';
import { Paged } from '../parts/paged.js';
import { Foreign, When } from '../parts/text.js';
import { usePages } from '../parts/use-pages.js';
import type { TabProps } from './tab-props.js';

const LOOK_MS = 5_000;

/** The events of a sandbox, the last first. */
export function Events({ team, detail }: TabProps) {
  const pages = usePages(`events ${team} ${detail.sandboxId}`, LOOK_MS, (nextToken, signal) =>
    clientOf(team).events.list({ sandboxId: detail.sandboxId, nextToken, signal }),
  );
  return (
    <Paged pages={pages} empty="No events" hint="They are kept for some days.">
      {(events) => (
        <ol class="timeline card">
          {events.map((event) => (
            <li key={event.id} class={kindOf(event)}>
              <span class="what">{kindOf(event)}</span>
              <span>
                <Foreign text={aboutOf(event)} longest={300} />
              </span>
              <span class="faint">
                <When time={event.timestamp} /> ({formatTime(event.timestamp)})
              </span>
            </li>
          ))}
        </ol>
      )}
    </Paged>
  );
}

function kindOf({ type }: LifecycleEvent): string {
  return type.slice(type.lastIndexOf('.') + 1);
}

/** Returns the details of an event besides its kind. */
function aboutOf(event: LifecycleEvent): string {
  switch (event.type) {
    case 'sandbox.lifecycle.killed':
    case 'sandbox.lifecycle.paused': {
      const { execution } = event;
      const ran =
        execution === undefined
          ? ''
          : `ran ${formatDuration(execution.durationMs)} on ${execution.cpuCount} CPU, ${formatBytes(execution.memoryMiB * 2 ** 20)}`;
      const why = event.type === 'sandbox.lifecycle.killed' ? event.killReason : undefined;
      return [why, ran].filter((part) => part).join('; ');
    }
    case 'sandbox.lifecycle.updated':
      return [
        event.endAt === undefined ? '' : `ends ${formatTime(event.endAt)}`,
        event.networkEgress === undefined ? '' : 'new network rules',
      ]
        .filter((part) => part !== '')
        .join('; ');
    case 'sandbox.lifecycle.checkpointed':
      return 'a fork or a snapshot was taken of it';
    default:
      return '';
  }
}
