import type { LifecycleEventData, LifecycleEvent as WireEvent } from '@svc/platform';
import type { EndedExecution, LifecycleEvent } from './lifecycle-event.js';

/** The facts that every event has, by their names here. */
export interface EventFacts {
  id: string;
  version: string;
  type: string;
  timestamp: string;
  sandboxId: string;
  executionId: string;
  templateId: string;
  buildId: string;
  teamId: string;
  data: LifecycleEventData | null;
}

/** An event of the list. */
export function fromListedEvent(event: WireEvent): LifecycleEvent {
  return toLifecycleEvent({
    id: event.id,
    version: event.version,
    type: event.type,
    timestamp: event.timestamp,
    sandboxId: event.sandboxId,
    executionId: event.sandboxExecutionId,
    templateId: event.sandboxTemplateId,
    buildId: event.sandboxBuildId,
    teamId: event.sandboxTeamId,
    data: event.eventData,
  });
}

/** An event from its facts. A type that is not known yet keeps its name and its `data`. */
export function toLifecycleEvent(facts: EventFacts): LifecycleEvent {
  const data = facts.data ?? {};
  const { execution, kill_reason: killReason, set_timeout: end, network_egress: egress } = data;
  const base = {
    ...facts,
    timestamp: new Date(facts.timestamp),
    metadata: data.sandbox_metadata ?? {},
    data,
  };
  const ended: EndedExecution | undefined = execution && {
    startedAt: new Date(execution.started_at),
    cpuCount: execution.vcpu_count,
    memoryMiB: execution.memory_mb,
    durationMs: execution.execution_time,
  };
  switch (facts.type) {
    case 'sandbox.lifecycle.killed':
      return { ...base, type: facts.type, killReason, execution: ended };
    case 'sandbox.lifecycle.paused':
      return { ...base, type: facts.type, execution: ended };
    case 'sandbox.lifecycle.updated':
      return {
        ...base,
        type: facts.type,
        endAt: end === undefined ? undefined : new Date(end),
        networkEgress: egress && {
          allowedCidrs: egress.allowed_cidrs ?? [],
          deniedCidrs: egress.denied_cidrs ?? [],
          allowedDomains: egress.allowed_domains ?? [],
        },
      };
    default:
      return { ...base, type: facts.type as 'sandbox.lifecycle.created' };
  }
}
