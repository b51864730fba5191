/** What the conditional headers of a request are compared with. */
export interface Validators {
  /** Strong, quotes included. */
  etag: string;
  /** Milliseconds since 1970. */
  modifiedMs: number;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The status that the conditions demand instead of the content, by RFC 9110 section 13.2.2. */
export function evaluateConditions(headers: Headers, current: Validators): 304 | 412 | undefined {
  const ifMatch = text(headers['if-match']);
  if (ifMatch !== undefined) {
    if (!matchesTag(ifMatch, current.etag, true)) return 412;
  } else {
    const since = parseDate(headers['if-unmodified-since']);
    if (since !== undefined && wholeSeconds(current.modifiedMs) > since) return 412;
  }
  const ifNoneMatch = text(headers['if-none-match']);
  if (ifNoneMatch !== undefined) return matchesTag(ifNoneMatch, current.etag, false) ? 304 : undefined;
  const since = parseDate(headers['if-modified-since']);
  return since !== undefined && wholeSeconds(current.modifiedMs) <= since ? 304 : undefined;
}

/** Whether a range still belongs to the client's copy. */
export function rangeApplies(headers: Headers, current: Validators): boolean {
  const condition = text(headers['if-range']);
  if (condition === undefined) return true;
  if (condition.startsWith('"') || condition.startsWith('W/')) return condition === current.etag;
  return parseDate(condition) === wholeSeconds(current.modifiedMs);
}

export function isConditional(headers: Headers): boolean {
  return ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range'].some(
    (name) => headers[name] !== undefined,
  );
}

function matchesTag(list: string, etag: string, strong: boolean): boolean {
  if (list.trim() === '*') return true;
  return list.split(',').some((item) => (strong ? item.trim() : item.trim().replace(/^W\//, '')) === etag);
}

function parseDate(header: string | string[] | undefined): number | undefined {
  const ms = Date.parse(text(header) ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}

function text(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}
