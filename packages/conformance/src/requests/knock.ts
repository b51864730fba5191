import assert from 'node:assert/strict';
import type { Target } from '../targets/target.js';
import { observe } from '../wire/recorder.js';
import { type Answer, type SendOptions, send } from '../wire/send.js';

/** A sandbox that is not there. */
export const UNKNOWN = 'i00000000000000000000';

/** A request to the gateway. */
export async function knock(
  target: Target,
  headers: Record<string, string | undefined>,
  path = '/',
  options: SendOptions = {},
): Promise<Answer> {
  const answer = await send(`${target.sandboxUrl}${path}`, { ...options, headers });
  observe({ operation: 'gateway', outcome: String(answer.status) });
  return answer;
}

/** The headers that lead to a port of a sandbox. */
export const to = (sandboxId: string, port: number | string) => ({
  'Svc-Sandbox-Id': sandboxId,
  'Svc-Sandbox-Port': String(port),
});

/** An answer of the gateway itself, as text. */
export function assertText(answer: Answer, status: number, text: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers['content-type'] ?? '', /^text\/plain/);
  assert.equal(answer.text, `${text}\n`);
  assert.equal(answer.headers['x-content-type-options'], 'nosniff');
  assert.equal(answer.headers['access-control-allow-origin'], '*');
}

/** An answer of the gateway itself, as a record. */
export function assertRecord(answer: Answer, status: number): Record<string, unknown> {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(answer.headers['access-control-allow-origin'], '*');
  const record = answer.json() as Record<string, unknown>;
  assert.equal(record.code, status);
  assert.ok((record.message as string).length > 0);
  return record;
}
