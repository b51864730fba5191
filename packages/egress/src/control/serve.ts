import { createServer } from 'node:http2';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { Egress, type EventsResponseSchema } from '../gen/egress/egress_pb.js';
import type { Questions } from './questions.js';
import { reportBatches } from './report-batches.js';
import type { EgressAuthority, EgressReport, EgressSandbox } from './types.js';
import { reportToWire, sandboxFromWire } from './wire.js';

/** The parts that the server controls. */
export interface ControlTarget {
  keep(ids: readonly string[]): void;
  /** @throws {TypeError} for what cannot be read */
  set(sandbox: EgressSandbox): void;
  remove(id: string): void;
  /** @throws {TypeError} */
  setAuthority(authority: EgressAuthority | undefined, extraRoots: string): void;
  takeReports(): EgressReport[];
}

/** One policy, the names of all sandboxes, or a list of authorities. */
const MAX_MESSAGE_BYTES = 4 * 2 ** 20;
const REPORT_MS = 1_000;

type Event = MessageInitShape<typeof EventsResponseSchema>;

/** Serves the control of the process. The result is to be put on a socket by the caller. */
export function serveControl(target: ControlTarget, questions: Questions, { reportMs = REPORT_MS } = {}) {
  let endReader: (() => void) | undefined;
  const events = async function* (_: unknown, { signal }: HandlerContext): AsyncGenerator<Event> {
    endReader?.();
    const replaced = new AbortController();
    endReader = () => replaced.abort();
    const over = AbortSignal.any([signal, replaced.signal]);
    const waiting: Event[] = [];
    let wake = () => {};
    over.addEventListener('abort', () => wake());
    const timer = setInterval(() => wake(), reportMs);
    let due = Date.now();
    questions.sendTo((question) => {
      waiting.push({ event: { case: 'question', value: question } });
      wake();
    });
    try {
      yield { event: { case: 'ready', value: {} } };
      while (!over.aborted) {
        const next = waiting.shift();
        if (next !== undefined) {
          yield next;
          continue;
        }
        if (Date.now() >= due) {
          due = Date.now() + reportMs;
          for (const batch of reportBatches(target.takeReports()))
            yield { event: { case: 'reports', value: { reports: batch.map(reportToWire) } } };
          if (waiting.length > 0) continue;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (over.aborted) resolve();
        });
      }
    } finally {
      clearInterval(timer);
      if (!replaced.signal.aborted) {
        questions.sendTo(undefined);
        endReader = undefined;
      }
    }
  };
  const service: ServiceImpl<typeof Egress> = {
    events,
    keepSandboxes: ({ ids }) => attempt(() => target.keep(ids)),
    setSandbox: ({ sandbox }) =>
      attempt(() => {
        if (sandbox === undefined) throw new TypeError('a sandbox is missing');
        target.set(sandboxFromWire(sandbox));
      }),
    removeSandbox: ({ id }) => attempt(() => target.remove(id)),
    setAuthority: ({ certificate, privateKey, extraRoots }) =>
      attempt(() =>
        target.setAuthority(certificate === '' ? undefined : { certificate, privateKey }, extraRoots),
      ),
    answer: (answer) => attempt(() => questions.answer(answer)),
  };
  return createServer(
    {},
    connectNodeAdapter({
      routes: (router) => router.service(Egress, service),
      readMaxBytes: MAX_MESSAGE_BYTES,
      acceptCompression: [],
      grpc: false,
      grpcWeb: false,
    }),
  );
}

function attempt(change: () => void): Record<string, never> {
  try {
    change();
    return {};
  } catch (error) {
    if (error instanceof TypeError) throw new ConnectError(error.message, Code.InvalidArgument);
    throw error;
  }
}
