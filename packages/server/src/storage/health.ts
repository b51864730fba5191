import { sql } from 'kysely';
import { describeCause } from './database-errors.js';
import type { Database } from './schema.js';

/**
 * Describes why the database does not answer, in its words or the system's; they hold no password. Undefined: it answers.
 * @param timeoutMs Longest that it may take. Default 1000.
 */
export async function databaseProblem(db: Database, timeoutMs = 1_000): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${timeoutMs} ms`), timeoutMs);
  });
  const asked = sql`select 1`.execute(db).then(
    () => undefined,
    (error: unknown) => describeCause(error).text,
  );
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}
