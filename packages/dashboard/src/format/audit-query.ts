import type { AuditFilter, AuditOutcome } from '@svc/sdk/operator';

/** Spans of time that can be chosen, by their name in the address, ms. */
export const spans = {
  '15m': 900_000,
  '1h': 3_600_000,
  '24h': 86_400_000,
  '7d': 604_800_000,
  '30d': 2_592_000_000,
} as const;

/** Names in the address that narrow the audit trail. */
export const filterNames = [
  'team',
  'actor',
  'operation',
  'resource',
  'outcome',
  'last',
  'from',
  'until',
] as const;

/** The filter that an address stands for. What is empty, or no time, narrows nothing. */
export function readAuditFilter(query: Record<string, string>, nowMs: number): AuditFilter {
  const text = (name: (typeof filterNames)[number]) => query[name] || undefined;
  const spanMs = Object.entries(spans).find(([name]) => name === query.last)?.[1];
  return {
    team: text('team'),
    actor: text('actor'),
    operation: text('operation'),
    resourceId: text('resource'),
    // The server names those that there are.
    outcome: text('outcome') as AuditOutcome | undefined,
    from: spanMs === undefined ? readTime(query.from) : new Date(nowMs - spanMs),
    until: spanMs === undefined ? readTime(query.until) : undefined,
  };
}

/** A time of the address as a field for date and time has it, of the reader's own clock; empty for none. */
export function toLocalField(text: string | undefined): string {
  const time = readTime(text);
  if (time === undefined) return '';
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/** Returns the value of such a field, for the address; empty for none. */
export function fromLocalField(value: string): string {
  return readTime(value)?.toISOString() ?? '';
}

function readTime(text: string | undefined): Date | undefined {
  const time = new Date(text ?? '');
  return Number.isNaN(time.getTime()) ? undefined : time;
}
