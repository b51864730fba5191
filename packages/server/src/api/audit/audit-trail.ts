import type { OperationRules } from '@svc/platform/rules';
import type { Ids } from '../../config/ids.js';
import type { Database, Tx } from '../../storage/schema.js';
import { toApiError } from '../http.js';
import { type Act, type EntryRow, entryId, type SystemReason, toRow } from './entry.js';
import { madeId } from './resource.js';

/** Longest wait of an outcome for others, to be written with them, ms. */
const FLUSH_MS = 50;
/** Outcomes that one statement writes. Two sizes alone: each is a text that SQLite prepares. */
const BATCHES = [32, 1] as const;
/** Outcomes that wait while the database does not answer; further ones are lost, their entries are not. */
const MOST_WAITING = 20_000;

/** An act that was put down and whose outcome is not. */
interface OpenEntry {
  /** @param madeId what the act made, where that was not known before */
  finish(status: number, madeId?: string): void;
}

interface AuditTrailOptions {
  db: Database;
  ids: Ids;
  nodeId: string;
  now(): number;
  log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
}

/**
 * Puts down who does what. An entry is in the database before its act begins, so that nothing is done without one; a little
 * later its outcome joins it. An entry without one shows that the process ended in between.
 */
export class AuditTrail {
  readonly #options: AuditTrailOptions;
  #waiting: EntryRow[] = [];
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #failing = false;

  constructor(options: AuditTrailOptions) {
    this.#options = options;
  }

  /** Puts an act down that is about to begin. It must not begin when this fails. */
  async begin(act: Act): Promise<OpenEntry> {
    const { db, ids, nodeId, now } = this.#options;
    const atMs = now();
    const row = toRow(act, { id: entryId(atMs, ids.hex(10)), atMs, nodeId });
    await db.insertInto('audit_entries').values(row).execute();
    return {
      finish: (status, madeId) =>
        this.#add({ ...row, resource_id: madeId ?? row.resource_id ?? null, status, finished_at: now() }),
    };
  }

  /** Writes every outcome that is known by now. @throws the error of the database; the outcomes stay queued */
  async flush(): Promise<void> {
    await this.#round;
    const round = this.#write();
    this.#round = round.catch(() => {});
    await round;
  }

  /** Writes what waits. What cannot be written is lost: the entry stays without an outcome. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.flush().catch((error: unknown) => {
      this.#options.log.error(
        { err: error, entries: this.#waiting.length },
        'outcomes of the audit trail could not be written',
      );
    });
  }

  #add(row: EntryRow): void {
    if (this.#waiting.length >= MOST_WAITING) return;
    this.#waiting.push(row);
    this.#schedule(FLUSH_MS);
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.flush().then(
        () => {
          this.#failing = false;
        },
        (error: unknown) => {
          if (!this.#failing)
            this.#options.log.warn(
              { err: error },
              'outcomes of the audit trail could not be written, will be tried again',
            );
          this.#failing = true;
          this.#schedule(1_000);
        },
      );
    }, delayMs);
    this.#timer.unref();
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const size = BATCHES.find((batch) => batch <= this.#waiting.length) ?? 1;
      const rows = this.#waiting.slice(0, size);
      await this.#options.db
        .insertInto('audit_entries')
        .values(rows)
        .onConflict((conflict) =>
          conflict.column('id').doUpdateSet((build) => ({
            status: build.ref('excluded.status'),
            finished_at: build.ref('excluded.finished_at'),
            resource_id: build.ref('excluded.resource_id'),
          })),
        )
        .execute();
      this.#waiting.splice(0, size);
    }
  }
}

/** Puts down what the service does by itself, in the transaction that does it. */
export async function recordSystemAct(
  context: { config: { nodeId: string }; ids: Ids; now(): number },
  tx: Tx,
  act: { reason: SystemReason; operation: 'killSandbox' | 'pauseSandbox' | 'resumeSandbox' },
  sandbox: { id: string; team_id: string },
): Promise<void> {
  const atMs = context.now();
  const row = toRow(
    {
      actor: { kind: 'system', reason: act.reason },
      operation: act.operation,
      resource: { kind: 'sandbox', id: sandbox.id },
      teamId: sandbox.team_id,
    },
    { id: entryId(atMs, context.ids.hex(10)), atMs, nodeId: context.config.nodeId },
  );
  await tx
    .insertInto('audit_entries')
    .values({ ...row, status: 204, finished_at: atMs })
    .execute();
}

/**
 * Does a request under an entry of the audit trail: it is put down first, and gets the outcome of the work whether or not
 * the client still waits for it.
 * @param about `act`: undefined for no entry
 */
export async function withEntry<Answer extends { status: number; body?: unknown }>(
  trail: AuditTrail,
  { act, rules }: { act: Act | undefined; rules: OperationRules },
  work: () => Promise<Answer> | Answer,
): Promise<Answer> {
  if (act === undefined) return work();
  const entry = await trail.begin(act);
  try {
    const answer = await work();
    entry.finish(answer.status, answer.status < 400 ? madeId(rules, answer.body) : undefined);
    return answer;
  } catch (error) {
    entry.finish(toApiError(error, 0).status);
    throw error;
  }
}
