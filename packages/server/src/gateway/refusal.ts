import type { RefusalReason } from './contract.js';

/** An answer that the gateway gives by itself. */
export interface Refusal {
  reason: RefusalReason;
  sandboxId?: string;
  port?: number;
  path?: string;
  message?: string;
  connectionLimit?: number;
}

interface Entry {
  status: number;
  body: 'text' | 'record';
  message: string;
}

/** Every answer of the gateway's own, by reason. Wire-visible texts. */
const catalog = {
  missing_header: { status: 400, body: 'text', message: 'missing header' },
  invalid_host: { status: 400, body: 'text', message: 'Invalid host' },
  invalid_sandbox_id: { status: 400, body: 'text', message: 'Invalid sandbox ID' },
  invalid_port: { status: 400, body: 'text', message: 'Invalid sandbox port' },
  bad_request: { status: 400, body: 'text', message: 'Bad request' },
  method_refused: { status: 405, body: 'text', message: 'Method not allowed' },
  internal_route: { status: 404, body: 'record', message: 'Not found' },
  sandbox_not_found: { status: 502, body: 'record', message: 'The sandbox was not found' },
  port_closed: { status: 502, body: 'record', message: 'The sandbox is running but port is not open' },
  transition: { status: 409, body: 'record', message: 'The sandbox is changing its state, try again later' },
  resume_refused: { status: 403, body: 'record', message: 'The sandbox may not be resumed' },
  resume_limited: { status: 429, body: 'record', message: 'Too many sandboxes run already' },
  connection_limit: { status: 429, body: 'record', message: 'Too many connections to the sandbox' },
  private_ingress: { status: 403, body: 'record', message: 'The port is private' },
  access_token: { status: 403, body: 'record', message: 'The X-Access-Token header is missing or wrong' },
  sandbox_stopped: { status: 502, body: 'record', message: 'The sandbox was stopped before it answered' },
  daemon_silent: { status: 502, body: 'record', message: 'The sandbox does not answer' },
  upstream_failed: {
    status: 502,
    body: 'text',
    message: 'The sandbox closed the connection before it answered',
  },
} satisfies Record<RefusalReason, Entry> as Record<RefusalReason, Entry>;

export const refusalReasons = Object.keys(catalog) as RefusalReason[];

export function refusalStatus(refusal: Refusal): number {
  return catalog[refusal.reason].status;
}

export interface RenderedRefusal {
  status: number;
  headers: Record<string, string>;
  body: string;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

function page(status: number, message: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${status}</title></head>
<body><h1>${status}</h1><p>${escapeHtml(message)}</p></body></html>
`;
}

/** Renders a refusal: plain text, the JSON record, or, for a browser's navigation, the record's message as a page. */
export function renderRefusal(refusal: Refusal, options: { html: boolean }): RenderedRefusal {
  const entry = catalog[refusal.reason];
  const { status } = entry;
  let message = refusal.message ?? entry.message;
  if (refusal.reason === 'port_closed') message = message.replace('port is', `port ${refusal.port} is`);
  const headers: Record<string, string> = {
    'Access-Control-Allow-Origin': '*',
    'X-Content-Type-Options': 'nosniff',
  };
  if (refusal.reason === 'method_refused') headers.Allow = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';
  const typed = (type: string, body: string) => ({
    status,
    headers: { ...headers, 'Content-Type': type },
    body,
  });

  if (entry.body === 'text') return typed('text/plain; charset=utf-8', `${message}\n`);
  if (options.html) return typed('text/html; charset=utf-8', page(status, message));
  const { sandboxId, port, path, connectionLimit } = refusal;
  const record = { sandboxId, message, port, path, connectionLimit, code: status };
  return typed('application/json; charset=utf-8', JSON.stringify(record));
}
