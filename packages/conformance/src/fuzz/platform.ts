import { unknownIds } from '../requests/samples.js';
import { type Api, fillPath } from '../wire/call.js';
import { type Document, type Operation, platform, volumes } from '../wire/documents.js';
import { send } from '../wire/send.js';
import type { FuzzReport } from './report.js';
import { pick, type Random, sampleOf } from './values.js';

/** Identifiers that exist, so that requests get past the first check. */
export interface Known {
  [parameter: string]: string[];
}

/** 5xx that the service means: no capacity, no time, a driver that cannot. */
const INTENDED = new Set([501, 503, 504]);

/** Sends one random request of an operation and judges the answer. */
export async function fuzzOperation(
  api: Api & { token?: string },
  document: Document,
  operation: Operation,
  known: Known,
  random: Random,
  report: FuzzReport,
): Promise<void> {
  const path = Object.fromEntries(
    operation.parameters
      .filter((one) => one.in === 'path')
      .map(({ name, schema }) => {
        const ids = known[name];
        if (ids !== undefined && ids.length > 0 && random() < 0.6) return [name, pick(random, ids)];
        if (random() < 0.3) return [name, unknownIds[name as keyof typeof unknownIds] ?? 'x'];
        return [name, String(sampleOf(document, schema, random) ?? 'null').slice(0, 1_500) || 'x'];
      }),
  );
  const query = operation.parameters
    .filter((one) => one.in === 'query' && random() < (one.required === true ? 0.9 : 0.4))
    .map(({ name, schema }) => `${name}=${encode(textOf(sampleOf(document, schema, random)), random)}`)
    .join('&');
  const hasBody = operation.bodyTypes.length > 0 && random() < 0.95;
  const json = operation.bodyTypes.includes('application/json');
  const body = hasBody ? bodyOf(document, operation, json, random) : undefined;
  const bearer = document === volumes;
  const url = `${api.apiUrl}${fillPath(operation.path, wellFormed(path))}${query === '' ? '' : `?${query}`}`;
  const what = `${operation.id} ${operation.method} ${url.slice(api.apiUrl.length, api.apiUrl.length + 300)} ${body?.toString().slice(0, 500) ?? ''}`;
  const began = performance.now();
  try {
    const answer = await send(url, {
      method: operation.method,
      timeoutMs: 60_000,
      headers: {
        ...(bearer
          ? { Authorization: `Bearer ${api.token ?? ''}` }
          : { 'X-API-Key': random() < 0.97 ? api.apiKey : 'svc_nonsense' }),
        ...(body === undefined
          ? {}
          : { 'Content-Type': json || random() < 0.1 ? 'application/json' : 'application/octet-stream' }),
      },
      ...(body === undefined ? {} : { body }),
    });
    report.count(operation.id, answer.status, began);
    if (answer.status >= 500 && !INTENDED.has(answer.status))
      report.fail(`${answer.status}: ${what} -> ${answer.text.slice(0, 300)}`);
    if (document === platform || bearer) {
      const wrong = operation.checkAnswer(answer.status, answer.headers['content-type'], answer.text);
      if (wrong !== undefined) report.fail(`${what} -> ${wrong}`);
    }
  } catch (error) {
    report.count(operation.id, 'no answer', began);
    report.fail(`no answer: ${what} -> ${(error as Error).message}`);
  }
}

function bodyOf(document: Document, operation: Operation, json: boolean, random: Random): Buffer {
  if (!json) return Buffer.from('not an archive, but bytes');
  const dice = random();
  if (dice < 0.04) return Buffer.from('{"cut":');
  if (dice < 0.06) return Buffer.from(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
  if (dice < 0.07) return Buffer.from([0xff, 0xfe, 0x00]);
  const value = sampleOf(document, operation.bodySchema, random);
  if (typeof value === 'object' && value !== null && 'templateID' in value && random() < 0.5)
    (value as { templateID: string }).templateID = 'base';
  return Buffer.from(JSON.stringify(value) ?? 'null');
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Percent-encoded, and now and then wrongly. */
function encode(text: string, random: Random): string {
  return random() < 0.03 ? '%zz' : encodeURIComponent(wellFormedText(text));
}

function wellFormed(path: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(path).map(([name, value]) => [name, wellFormedText(value)]));
}

/** Lone halves of surrogate pairs cannot be percent-encoded. */
function wellFormedText(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}
