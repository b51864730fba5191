import type { LogEvent } from 'kysely';
import type { Tracer } from '../../api/context/tracer.js';

/** Makes each statement a span below what needed it: its text with placeholders, never a value. */
export function traceQueries(tracer: Tracer, system: 'sqlite' | 'postgresql'): (event: LogEvent) => void {
  return (event) => {
    const { sql } = event.query;
    const [, verb = 'statement'] = /^\s*(\w+)/.exec(sql) ?? [];
    const [, table] = /\b(?:from|into|update)\s+"?(\w+)"?/i.exec(sql) ?? [];
    const name = [verb.toUpperCase(), table].filter((part) => part !== undefined).join(' ');
    tracer.past(
      name,
      event.queryDurationMillis,
      { 'db.system.name': system, 'db.query.text': sql },
      event.level === 'error',
    );
  };
}
