import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import {
  type CallOptions,
  type Client,
  createClient,
  type Interceptor,
  type Transport,
} from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { driverClosed } from '../contract/errors.js';
import { Driver as DriverService, type WatchResponse } from '../gen/driver/driver_pb.js';
import { FrameTransport } from './frame-transport.js';
import { CALLS_PROTOCOL } from './serve-frames.js';
import { StatsBatch } from './stats-batch.js';
import { openUpgraded } from './upgrade.js';
import { CancelledError, fromCallError } from './wire.js';

/** Connections that wait for the next stream; more are made while many run. */
const IDLE_CONNECTIONS = 32;
const CONNECT_TIMEOUT_MS = 10_000;

/** Calls of the other process, their errors the driver's again. */
export class RemoteCalls {
  readonly #client: Client<typeof DriverService>;
  readonly #disconnect: () => void;
  readonly #ended = new AbortController();
  /** Batches requests for the use of instances. */
  readonly stats = new StatsBatch((handles) => this.run((client) => client.stats({ handles })));

  /** @param disconnect ends what the transport holds open. */
  constructor(transport: Transport, disconnect: () => void) {
    this.#client = createClient(DriverService, transport);
    this.#disconnect = disconnect;
  }

  /** Calls over a Unix socket, see `serveDriver`. */
  static overSocket({ socketPath, token }: { socketPath: string; token: string }): RemoteCalls {
    const agent = new Agent({ keepAlive: true, maxFreeSockets: IDLE_CONNECTIONS });
    const authorize: Interceptor = (next) => (request) => {
      request.header.set('authorization', `Bearer ${token}`);
      return next(request);
    };
    const streams = createConnectTransport({
      baseUrl: 'http://runtime',
      httpVersion: '1.1',
      nodeOptions: { agent, socketPath },
      interceptors: [authorize],
      acceptCompression: [],
    });
    const frames = new FrameTransport(() =>
      openUpgraded({ socketPath, token }, CALLS_PROTOCOL, AbortSignal.timeout(CONNECT_TIMEOUT_MS)),
    );
    return new RemoteCalls({ unary: frames.unary.bind(frames), stream: streams.stream.bind(streams) }, () => {
      frames.end();
      agent.destroy();
    });
  }

  /** Aborts at {@link end}. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** @throws {DriverError} what the driver threw; `unreachable`, `closed` */
  async run<T>(call: (client: Client<typeof DriverService>, options: CallOptions) => Promise<T>): Promise<T> {
    if (this.#ended.signal.aborted) throw driverClosed();
    try {
      return await call(this.#client, {});
    } catch (error) {
      throw fromCallError(error);
    }
  }

  /**
   * A call that the signal cancels. It settles only once the other side has undone what it made, or when that is done
   * already: then the call succeeds all the same.
   */
  async cancellable<T>(
    signal: AbortSignal | undefined,
    call: (client: Client<typeof DriverService>, callId: string) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    const callId = randomUUID();
    const cancel = () => void this.#client.cancel({ callId }).catch(() => undefined);
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      return await this.run((client) => call(client, callId));
    } catch (error) {
      if (error instanceof CancelledError) signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** A stream of answers. Returning early ends the call. @throws {DriverError} while they are read */
  async *stream<T>(call: (client: Client<typeof DriverService>) => AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* call(this.#client);
    } catch (error) {
      throw fromCallError(error);
    }
  }

  /** Events of the driver; the first is there when this settles. */
  async watch(): Promise<AsyncIterator<WatchResponse>> {
    const events = this.#client.watch({}, { signal: this.#ended.signal })[Symbol.asyncIterator]();
    try {
      await events.next();
    } catch (error) {
      throw fromCallError(error);
    }
    return events;
  }

  end(): void {
    this.#ended.abort();
    this.#disconnect();
  }
}
