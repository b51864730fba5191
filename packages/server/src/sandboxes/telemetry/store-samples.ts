import { type Insertable, sql } from 'kysely';
import type { SandboxMetricsTable } from '../../storage/schema.js';
import type { Uses } from '../context.js';

export type Sample = Required<Omit<Insertable<SandboxMetricsTable>, 'span_ms'>>;

/** Rows of one statement: SQLite runs it on the server's only thread, some milliseconds long. */
const BATCH = 500;

const TYPES = {
  sandbox_id: 'text',
  team_id: 'text',
  at: 'bigint',
  cpu_count: 'bigint',
  cpu_used_pct: 'double precision',
  mem_used: 'bigint',
  mem_total: 'bigint',
  mem_cache: 'bigint',
  disk_used: 'bigint',
  disk_total: 'bigint',
} satisfies Record<keyof Sample, string>;

const columns = Object.keys(TYPES) as (keyof Sample)[];

/**
 * Adds samples; those that are there already stay. A batch goes as one JSON parameter, which both databases unpack: with a
 * parameter for each figure, making the statement costs several times what running it does.
 */
export async function storeSamples(
  { db, dialect }: Uses<'db' | 'dialect'>,
  samples: readonly Sample[],
): Promise<void> {
  const typed = columns.map((column) => sql`${sql.ref(column)} ${sql.raw(TYPES[column])}`);
  for (let at = 0; at < samples.length; at += BATCH) {
    const json = JSON.stringify(samples.slice(at, at + BATCH));
    const rows =
      dialect === 'postgres'
        ? sql`select * from json_to_recordset(${json}::json) as sample (${sql.join(typed)})`
        : sql`select ${sql.join(columns.map((column) => sql`json_extract(value, ${sql.lit(`$.${column}`)})`))}
          from json_each(${json}) where true`;
    await sql`insert into sandbox_metrics (${sql.join(columns.map((column) => sql.ref(column)))}) ${rows}
      on conflict (sandbox_id, at) do nothing`.execute(db);
  }
}
