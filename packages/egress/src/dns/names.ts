import type { Questions } from '../control/questions.js';
import type { EgressSandbox } from '../control/types.js';
import { holdsRecords, isReplyTo, parseQuery, withTtl } from './message.js';

/** Longest time that an answer may stand in for one that nobody gives, ms, and for how many seconds clients may keep it then. */
const STALE_MS = 3_600_000;
const STALE_TTL_SECONDS = 30;
const MAX_REPLY_BYTES = 1_232;
/** Answers kept for one sandbox, and sandboxes: the ones not used for longest go first. */
const PER_SANDBOX = 32;
const SANDBOXES = 1_000;

interface Kept {
  reply: Buffer;
  atMs: number;
}

/**
 * Asks the server's resolver, each time. Where there is no server, or no answer, the last one that this sandbox got to the
 * same query holds for an hour (RFC 8767). No sandbox learns what another one asked for.
 */
export class Names {
  readonly #questions: Questions;
  readonly #now: () => number;
  readonly #kept = new Map<string, Map<string, Kept>>();

  constructor(questions: Questions, now: () => number = () => performance.now()) {
    this.#questions = questions;
    this.#now = now;
  }

  /** @throws {NoAnswerError} */
  async ask(sandbox: EgressSandbox, query: Buffer): Promise<Buffer> {
    // The id of a query is another one each time.
    const key = query.toString('latin1', 2);
    const stale = this.#staleReply(sandbox.id, key, query);
    if (stale !== undefined && !this.#questions.answered) return stale;
    try {
      const { buffer, byteOffset, byteLength } = await this.#questions.dns(sandbox, query);
      const reply = Buffer.from(buffer, byteOffset, byteLength);
      this.#keep(sandbox.id, key, query, reply);
      return reply;
    } catch (error) {
      if (stale !== undefined) return stale;
      throw error;
    }
  }

  #staleReply(id: string, key: string, query: Buffer): Buffer | undefined {
    const kept = this.#kept.get(id)?.get(key);
    if (kept === undefined || this.#now() - kept.atMs > STALE_MS) return undefined;
    const reply = Buffer.from(kept.reply);
    query.copy(reply, 0, 0, 2);
    return reply;
  }

  #keep(id: string, key: string, query: Buffer, reply: Buffer): void {
    const question = parseQuery(query);
    if (question === undefined || !isReplyTo(reply, question) || !holdsRecords(reply)) return;
    if (reply.length > MAX_REPLY_BYTES) return;
    const kept = withTtl(reply, STALE_TTL_SECONDS);
    if (kept === undefined) return;
    const answers = this.#kept.get(id) ?? new Map<string, Kept>();
    renew(this.#kept, id, answers, SANDBOXES);
    renew(answers, key, { reply: kept, atMs: this.#now() }, PER_SANDBOX);
  }
}

/** Puts an entry last, and drops the first where there are too many. */
function renew<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  if (map.size >= most) map.delete(map.keys().next().value!);
  map.set(key, value);
}
