import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import ts from 'typescript';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StorageOptions } from '../../src/config/options.js';
import { createKeyRing } from '../../src/storage/keys/key-ring.js';
import { migrate } from '../../src/storage/migrate.js';
import { migrations } from '../../src/storage/migrations/index.js';
import { openStorage } from '../../src/storage/open.js';
import { openPostgres } from '../../src/storage/postgres.js';
import type { Database } from '../../src/storage/schema.js';
import { openSqlite } from '../../src/storage/sqlite.js';
import { dialect, dropSchema, testStorage } from '../support/server-storage.js';

let dataDir: string;
let storage: StorageOptions;
let schema: string | undefined;
beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'svc-schema-'));
  ({ storage, schema } = await testStorage());
});
afterEach(async () => {
  await dropSchema(schema);
  await rm(dataDir, { recursive: true, force: true });
});

/** The database as it is, without this version's migrations. */
const openRaw = () =>
  storage.kind === 'postgres'
    ? openPostgres(storage.url, schema === undefined ? {} : { schema })
    : openSqlite(path.join(dataDir, 'server.db'));

describe('the schema', () => {
  it('is the one that is checked in, and migrating again changes nothing', async () => {
    const { db } = await openStorage(storage, dataDir);
    try {
      const before = await dump(db);
      await expect(before).toMatchFileSnapshot(`../../src/storage/schema.${dialect}.txt`);
      await migrate(db, dialect);
      expect(await dump(db)).toBe(before);
    } finally {
      await db.destroy();
    }
  });

  it('is the one that the types of the tables describe', async () => {
    const { db } = await openStorage(storage, dataDir);
    try {
      const stored = new Map<string, string[]>();
      for (const { table, ...column } of await storedColumns(db))
        stored.set(table, [...(stored.get(table) ?? []), storedColumn(column)].sort());
      expect(Object.fromEntries(stored)).toEqual(await typedTables());
    } finally {
      await db.destroy();
    }
  });

  it('of a database from before the Migrator is taken over, with everything in it', async () => {
    const raw = await openRaw();
    for (const statement of await databaseBeforeTheMigrator()) await sql.raw(statement).execute(raw);
    await raw.destroy();
    const { db } = await openStorage(storage, dataDir);
    try {
      await expect(await dump(db)).toMatchFileSnapshot(`../../src/storage/schema.${dialect}.txt`);
      const { rows } = await sql`select name from kysely_migration order by name`.execute(db);
      expect(rows).toEqual(migrations.map(({ id }) => ({ name: id })));
      const sandbox = await db.selectFrom('sandboxes').selectAll().executeTakeFirstOrThrow();
      expect(sandbox).toMatchObject({ state: 'paused', metadata: '{"kept":"yes"}' });
      const keys = createKeyRing(Buffer.from('11'.repeat(32), 'hex'));
      expect(keys.decrypt('sandbox', sandbox.encrypted_secrets ?? '')).toBe(
        '{"envVars":{"SECRET":"hidden"}}',
      );
      const secret = await db.selectFrom('secret_versions').selectAll().executeTakeFirstOrThrow();
      expect(keys.decrypt(`secret:${secret.secret_id}:1`, secret.encrypted_value)).toBe('hunter2');
    } finally {
      await db.destroy();
    }
  });

  it('stays as it was when a step fails half-way', async () => {
    const { db } = await openStorage(storage, dataDir);
    try {
      const before = await dump(db);
      const broken = { id: '999-broken', statements: () => ['create table half (id text)', 'nonsense'] };
      await expect(migrate(db, dialect, [...migrations, broken])).rejects.toThrow();
      expect(await dump(db)).toBe(before);
    } finally {
      await db.destroy();
    }
  });
});

/** Tables, columns, indexes and triggers, a line each. */
async function dump(db: Database): Promise<string> {
  const queries =
    dialect === 'sqlite'
      ? [
          sql<{ line: string }>`select sql as line from sqlite_master
            where sql is not null and name not like 'sqlite_%' order by name`,
        ]
      : [
          sql<{
            line: string;
          }>`select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable
            as line from information_schema.columns where table_schema = current_schema() order by 1`,
          sql<{ line: string }>`select replace(indexdef, schemaname || '.', '') as line from pg_indexes
            where schemaname = current_schema() order by 1`,
          sql<{
            line: string;
          }>`select replace(pg_get_triggerdef(pg_trigger.oid), current_schema() || '.', '') as line
            from pg_trigger join pg_class on pg_class.oid = tgrelid
            where not tgisinternal and relnamespace = current_schema()::regnamespace order by 1`,
          sql<{ line: string }>`select 'FUNCTION ' || proname || ' ' || prosrc as line
            from pg_proc where pronamespace = current_schema()::regnamespace order by 1`,
        ];
  const lines: string[] = [];
  for (const query of queries)
    for (const { line } of (await query.execute(db)).rows) lines.push(line.replaceAll(/\s+/g, ' '));
  return `${lines.join('\n')}\n`;
}

/** Statements that make a database as the last version before the Migrator left it. */
async function databaseBeforeTheMigrator(): Promise<string[]> {
  const text = await readFile(path.join(import.meta.dirname, 'fixtures/before-migrator.sql'), 'utf8');
  const statements = text
    .trimEnd()
    .split(/;\n|;$/)
    .filter(Boolean);
  if (dialect === 'sqlite') return statements;
  const tables = migrations.slice(0, 3).flatMap((step) => step.statements('postgres'));
  const record = 'create table migrations (id text primary key, applied_at bigint not null)';
  return [...tables, record, ...statements.filter((statement) => statement.startsWith('insert'))];
}

interface StoredColumn {
  name: string;
  dataType: string;
  isNullable: boolean;
}

async function storedColumns(db: Database): Promise<(StoredColumn & { table: string })[]> {
  if (dialect === 'sqlite')
    return (await db.introspection.getTables()).flatMap(({ name, columns }) =>
      columns.map((column) => ({ ...column, table: name })),
    );
  const { rows } = await sql<
    StoredColumn & { table: string }
  >`select table_name as table, column_name as name,
    data_type as "dataType", is_nullable = 'YES' as "isNullable" from information_schema.columns
    where table_schema = current_schema() and table_name not like 'kysely_%'`.execute(db);
  return rows;
}

/** SQLite takes null in a primary key of text, which PostgreSQL does not: what may be null is compared there. */
const nullability = dialect === 'postgres';

function storedColumn(column: StoredColumn): string {
  const type = /int|double|float/i.test(column.dataType) ? 'number' : 'string';
  return `${column.name}: ${type}${nullability && column.isNullable ? ' | null' : ''}`;
}

/** The tables of `Schema`, read from their types by the compiler. */
async function typedTables(): Promise<Record<string, string[]>> {
  const file = path.resolve(import.meta.dirname, '../../src/storage/schema.ts');
  const program = ts.createProgram([file], {
    strict: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file)!;
  const declaration = source.statements.find(
    (statement) => ts.isInterfaceDeclaration(statement) && statement.name.text === 'Schema',
  )!;
  const columnOf = (symbol: ts.Symbol): string => {
    const type = checker.getTypeOfSymbol(symbol);
    const parts = type.isUnion() ? type.types : [type];
    const nullable = parts.some((part) => part.flags & ts.TypeFlags.Null);
    const isNumber = parts.some(
      (part) => part.flags & ts.TypeFlags.NumberLike || checker.typeToString(part).includes('<number'),
    );
    return `${symbol.name}: ${isNumber ? 'number' : 'string'}${nullability && nullable ? ' | null' : ''}`;
  };
  return Object.fromEntries(
    checker
      .getTypeAtLocation(declaration)
      .getProperties()
      .map((table) => [table.name, checker.getTypeOfSymbol(table).getProperties().map(columnOf).sort()]),
  );
}
