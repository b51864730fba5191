import assert from 'node:assert/strict';
import { daemon as document, operationOf } from '../../../wire/documents.js';
import { observe } from '../../../wire/recorder.js';
import { type Daemon, type DaemonCallOptions, daemonSend } from '../../../wire/rpc.js';
import type { Answer } from '../../../wire/send.js';
import { query } from '../scratch.js';

export const BOUNDARY = 'a-boundary';

/** Calls a documented route of the daemon; the answer must be one that the document allows. */
export async function http(
  daemon: Daemon,
  operationId: string,
  values: Record<string, string> = {},
  options: DaemonCallOptions = {},
): Promise<Answer> {
  const operation = operationOf(document, operationId);
  const text = Object.keys(values).length === 0 ? '' : query(values);
  const answer = await daemonSend(daemon, `${operation.path}${text}`, {
    method: operation.method,
    ...options,
  });
  const plain = answer.headers['content-encoding'] === undefined ? answer.text : '';
  assert.equal(
    operation.checkAnswer(answer.status, answer.headers['content-type'], plain),
    undefined,
    operationId,
  );
  observe({ operation: `daemon ${operationId}`, outcome: String(answer.status) });
  if (answer.status >= 400 && (answer.headers['content-type'] ?? '').startsWith('application/json'))
    assert.equal((answer.json() as { code: number }).code, answer.status);
  return answer;
}

export const octet = (body: string | Buffer, headers: Record<string, string> = {}): DaemonCallOptions => ({
  body,
  headers: { 'Content-Type': 'application/octet-stream', ...headers },
});

export const multipart = (
  parts: { name: string; filename?: string; body: string }[],
  cut = false,
): DaemonCallOptions => ({
  body:
    parts
      .map(
        ({ name, filename, body }) =>
          `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n\r\n${body}\r\n`,
      )
      .join('') + (cut ? '' : `--${BOUNDARY}--\r\n`),
  headers: { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` },
});

export interface Written {
  path: string;
  name: string;
  type: string;
  metadata?: Record<string, string>;
}
