import { toApiError } from '../http/error-reply.js';
import type { AuditTrail } from './audit-trail.js';
import { madeId } from './audited.js';
import type { Act } from './entry.js';

/**
 * Does a request under an entry of the audit trail: it is put down first, and gets the outcome of the work whether or not
 * the client still waits for it.
 * @param act undefined: no entry
 */
export async function withEntry<Answer extends { status: number; body?: unknown }>(
  trail: AuditTrail,
  act: Act | undefined,
  work: () => Promise<Answer> | Answer,
): Promise<Answer> {
  if (act === undefined) return work();
  const entry = await trail.begin(act);
  try {
    const answer = await work();
    entry.finish(answer.status, answer.status < 400 ? madeId(act.operation, answer.body) : undefined);
    return answer;
  } catch (error) {
    entry.finish(toApiError(error, 0).status);
    throw error;
  }
}
