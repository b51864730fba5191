import { errorFromAnswer } from '../core/errors/from-answer.js';

/** Throws the error of the table unless the daemon's answer is a good one. */
export async function throwUnlessOk(response: Response, operation: string): Promise<void> {
  if (response.ok) return;
  const text = await response.text().catch(() => '');
  throw errorFromAnswer({
    status: response.status,
    headers: response.headers,
    body: parse(text),
    service: 'sandbox',
    operation,
    resource: 'file',
    nowMs: Date.now(),
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
