import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { readProcStat } from '#support/process-identity';

const script = fileURLToPath(new URL('../../../../scripts/postgres.sh', import.meta.url));

/** A PostgreSQL of a test's own, which may be restarted, frozen and cut off. */
export interface OwnPostgres extends AsyncDisposable {
  url: string;
  /** Ends every connection in order and comes back. */
  restart(): Promise<void>;
  /** Stops it from running, with all its connections open, until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Ends every connection but its own. @returns how many */
  terminateBackends(): Promise<number>;
}

/** @param options Options of the server, such as `-c max_connections=15`. */
export async function startOwnPostgres(options = ''): Promise<OwnPostgres> {
  const directory = await mkdtemp(path.join(tmpdir(), 'svc-own-postgres-'));
  const env = { ...process.env, SVC_TEST_POSTGRES_DIR: directory, SVC_TEST_POSTGRES_OPTIONS: options };
  const call = async (verb: string) => (await promisify(execFile)(script, [verb], { env })).stdout.trim();
  const url = await call('start');
  const signal = (name: NodeJS.Signals) => {
    for (const pid of family(directory)) {
      try {
        process.kill(pid, name);
      } catch {
        // A connection that ended meanwhile.
      }
    }
  };
  return {
    url,
    restart: async () => void (await call('restart')),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async terminateBackends() {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const { rowCount } = await client.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'",
      );
      await client.end();
      return rowCount ?? 0;
    },
    async [Symbol.asyncDispose]() {
      signal('SIGCONT');
      await call('stop');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The process that accepts connections, and those that serve them. */
function family(directory: string): number[] {
  const [first = ''] = readFileSync(path.join(directory, 'data/postmaster.pid'), 'utf8').split('\n');
  const postmaster = Number(first);
  const children = readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && readProcStat(pid)?.ppid === postmaster);
  return [postmaster, ...children];
}
