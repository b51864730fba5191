// Packs what a server keeps, as the user that it runs as: this program opens the files of a process that reads what strangers
// send, so it has no right beyond those of that process. Working directory: the server's. Arguments: names to pack.
//
// Each line `database` on standard input has it copy the database anew, and it answers with one line of JSON on descriptor 3:
// what the copy refers to. The line `pack` has it write the archive to standard output, and end.
import { spawn } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import type { DatabaseFacts } from './server-part.js';

interface Binding {
  new (
    path: string,
  ): { exec(text: string): void; prepare(text: string): { all(): Record<string, unknown>[] }; close(): void };
}

const DRAFT = '.backup-';

process.umask(0o077);
for (const name of readdirSync('.'))
  if (name.startsWith(DRAFT) && !existsSync(`/proc/${name.slice(DRAFT.length)}`))
    rmSync(name, { recursive: true, force: true });
const draft = `${DRAFT}${process.pid}`;
process.on('exit', () => rmSync(draft, { recursive: true, force: true }));
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(1));

const Libsql = createRequire(import.meta.url)('libsql') as Binding;
const lines = createInterface({ input: process.stdin });
let hasDatabase = false;
for await (const line of lines) {
  if (line === 'database') {
    writeSync(3, `${JSON.stringify(copyDatabase())}\n`);
    hasDatabase = true;
  }
  if (line === 'pack') break;
}
process.exitCode = await pack(process.argv.slice(2));
process.exit();

/** One transaction of reading: what is written meanwhile is not part of it, and nobody waits. */
function copyDatabase(): DatabaseFacts {
  // Reading a pipe in its place would never end.
  for (const name of ['server.db', 'server.db-wal'])
    if (lstatSync(name, { throwIfNoEntry: false })?.isFile() === false) throw new Error(`${name} is no file`);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  const source = new Libsql('server.db');
  try {
    source.exec('pragma busy_timeout = 60000');
    source.exec(`vacuum into '${draft}/server.db'`);
  } finally {
    source.close();
  }
  const copy = new Libsql(`${draft}/server.db`);
  try {
    return {
      migrations: column(copy, 'select name as value from kysely_migration order by name'),
      checkpoints: column(
        copy,
        `select checkpoint_id as value from sandboxes where checkpoint_id is not null
         union select checkpoint_id from template_builds where checkpoint_id is not null`,
      ),
      // Below those is a base, whose names have dashes, or the host's.
      layers: column(
        copy,
        `select layer_id as value from layers
         union select item.value from template_builds, json_each(template_builds.layers) as item
         where item.value not like '%-%' and item.value <> 'host'`,
      ),
      sandboxes: copy
        .prepare(`select state, end_at from sandboxes where state in ('running', 'paused')`)
        .all()
        .map((row) => ({ state: String(row.state), endAt: Number(row.end_at) })),
    };
  } finally {
    copy.close();
  }
}

function column(database: InstanceType<Binding>, text: string): string[] {
  return database
    .prepare(text)
    .all()
    .map(({ value }) => String(value));
}

async function pack(names: readonly string[]): Promise<number> {
  const found = names.filter((name) => existsSync(name));
  const database = hasDatabase ? [`--directory=${draft}`, 'server.db', `--directory=${process.cwd()}`] : [];
  const options = ['--create', '--format=posix', '--no-recursion', '--numeric-owner', '--file=-'];
  const tar = spawn('tar', [...options, ...database, '--recursion', ...found], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    tar.once('error', reject);
    tar.once('close', resolve);
  });
  // Uploads may grow or end while they are read.
  return code === 1 ? 0 : (code ?? 1);
}
