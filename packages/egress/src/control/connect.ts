import type { Duplex } from 'node:stream';
import { type Client, createClient } from '@connectrpc/connect';
import { createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { Egress, type EventsResponse, type Question } from '../gen/egress/egress_pb.js';
import type { EgressControl, EgressHandlers, EgressQuestion } from './types.js';
import { placeholderFromWire, reportFromWire, sandboxToWire } from './wire.js';

const BASE_URL = 'http://egress';
/** Longest message that is taken of the process: it reads what attackers send, and may be in their hands. */
const MAX_MESSAGE_BYTES = 2 * 2 ** 20;

/** A process that answers no ping does nothing else either: the connection ends. */
const ALIVE = { pingIntervalMs: 5_000, pingTimeoutMs: 10_000 };

/**
 * Rules an egress process over a connection to its control socket, and answers its questions. When the connection ends,
 * {@link EgressControl.closed} settles; connecting again, and sending everything again, is up to the caller.
 * @throws {Error} when nothing there speaks the protocol; the connection is closed then
 */
export async function connectEgress(connection: Duplex, handlers: EgressHandlers): Promise<EgressControl> {
  const stopped = new AbortController();
  let used = false;
  const sessions = new Http2SessionManager(BASE_URL, ALIVE, {
    createConnection: () => {
      // One control is one connection: what the process received before belongs to it.
      if (used) throw new Error('The connection to the egress process is closed.');
      used = true;
      return connection;
    },
  });
  const end = () => {
    stopped.abort();
    sessions.abort();
    connection.destroy();
  };
  connection.once('close', end);
  connection.once('error', end);
  const client = createClient(
    Egress,
    createConnectTransport({
      baseUrl: BASE_URL,
      httpVersion: '2',
      sessionManager: sessions,
      readMaxBytes: MAX_MESSAGE_BYTES,
      acceptCompression: [],
    }),
  );
  const events = client.events({}, { signal: stopped.signal })[Symbol.asyncIterator]();
  try {
    const first = await events.next();
    if (first.done === true || first.value.event.case !== 'ready')
      throw new Error('The egress process did not greet.');
  } catch (error) {
    end();
    throw error;
  }
  const closed = follow(client, events, handlers, stopped.signal).finally(end);
  return {
    keepSandboxes: async (ids) => void (await client.keepSandboxes({ ids: [...ids] })),
    setSandbox: async (sandbox, signal) =>
      void (await client.setSandbox({ sandbox: sandboxToWire(sandbox) }, signal && { signal })),
    removeSandbox: async (id) => void (await client.removeSandbox({ id })),
    setAuthority: async (authority, extraRoots = '') =>
      void (await client.setAuthority({ ...authority, extraRoots })),
    closed,
    close: end,
  };
}

async function follow(
  client: Client<typeof Egress>,
  events: AsyncIterator<EventsResponse>,
  handlers: EgressHandlers,
  signal: AbortSignal,
): Promise<void> {
  try {
    for (;;) {
      const { done, value } = await events.next();
      if (done === true) return;
      const { event } = value;
      if (event.case === 'reports') handlers.onReports(event.value.reports.map(reportFromWire));
      if (event.case === 'question') void reply(client, event.value, handlers, signal);
    }
  } catch {
    // The connection broke: `closed` reports it.
  }
}

async function reply(
  client: Client<typeof Egress>,
  question: Question,
  handlers: EgressHandlers,
  signal: AbortSignal,
): Promise<void> {
  const { id, sandboxId, execution } = question;
  const about: EgressQuestion = { sandboxId, signal, ...(execution === '' ? {} : { execution }) };
  const answer = await answerTo(question.question, about, handlers).catch(() => ({
    case: 'failure' as const,
    value: 'no answer',
  }));
  await client.answer({ id, answer }).catch(() => undefined);
}

async function answerTo(question: Question['question'], about: EgressQuestion, handlers: EgressHandlers) {
  if (question.case === 'dns')
    return { case: 'dns' as const, value: await handlers.resolveDns(question.value, about) };
  if (question.case !== 'placeholders') throw new Error('A question of a kind that is not known.');
  const { host, placeholders } = question.value;
  const values = await handlers.resolvePlaceholders(placeholders.map(placeholderFromWire), {
    ...about,
    host,
  });
  return { case: 'values' as const, value: { values: [...values] } };
}
