/** Version 00 of W3C Trace Context; ids of zeros alone mean none. */
const traceparent = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const stateMember =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
/** Longest `tracestate` that is handed on, characters, and its most members. */
const longestState = 512;
const mostMembers = 32;

/**
 * The variables that tell a program which trace it belongs to, from the headers of the request that starts it: OpenTelemetry's
 * `TRACEPARENT` and `TRACESTATE`. None for headers that are not exactly what W3C Trace Context allows.
 */
export function traceVariables(headers: Pick<Headers, 'get'>): Record<string, string> | undefined {
  const parent = headers.get('traceparent');
  if (parent === null || !traceparent.test(parent)) return undefined;
  const state = headers.get('tracestate');
  return state !== null && isTraceState(state)
    ? { TRACEPARENT: parent, TRACESTATE: state }
    : { TRACEPARENT: parent };
}

function isTraceState(state: string): boolean {
  if (state === '' || state.length > longestState) return false;
  const members = state.split(',').map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''));
  const named = members.filter((member) => member !== '');
  return named.length > 0 && named.length <= mostMembers && named.every((member) => stateMember.test(member));
}
