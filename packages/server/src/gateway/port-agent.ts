import { Agent, type ClientRequestArgs } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export type Connect = () => Promise<Duplex>;

/** The connections to one port of one running instance, kept alive between requests. */
export class PortAgent extends Agent {
  /** Opens a connection by the newest route. */
  connect: Connect;
  readonly #open = new Set<Duplex>();
  readonly #onEmpty: () => void;
  #pending = 0;

  constructor(options: { connect: Connect; idleMs: number; onEmpty: () => void }) {
    super({ keepAlive: true, maxFreeSockets: 64, timeout: options.idleMs, scheduling: 'lifo' });
    this.connect = options.connect;
    this.#onEmpty = options.onEmpty;
  }

  override getName(): string {
    return 'sandbox';
  }

  override createConnection(
    _options: ClientRequestArgs,
    done: (error: Error | null, stream?: Duplex) => void,
  ): undefined {
    this.#pending++;
    this.connect().then(
      (stream) => {
        this.#pending--;
        this.#open.add(stream);
        stream.once('close', () => {
          this.#open.delete(stream);
          this.#reportEmpty();
        });
        done(null, stream);
      },
      (error: Error) => {
        this.#pending--;
        done(error);
        this.#reportEmpty();
      },
    );
  }

  /** Only real sockets are kept: a bare stream cannot be watched for idleness. */
  override keepSocketAlive(socket: Duplex): boolean {
    if (typeof (socket as Partial<Socket>).setTimeout !== 'function') return false;
    const keep = (Agent.prototype as unknown as { keepSocketAlive(socket: Duplex): boolean }).keepSocketAlive;
    return keep.call(this, socket);
  }

  get idle(): number {
    return Object.values(this.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
  }

  destroyIdle(): void {
    for (const sockets of Object.values(this.freeSockets))
      for (const socket of [...(sockets ?? [])]) socket.destroy();
  }

  destroyAll({ keepIdle = false }: { keepIdle?: boolean } = {}): void {
    const idle = new Set<Duplex>(Object.values(this.freeSockets).flatMap((sockets) => sockets ?? []));
    for (const stream of [...this.#open]) if (!keepIdle || !idle.has(stream)) stream.destroy();
  }

  #reportEmpty(): void {
    if (this.#open.size === 0 && this.#pending === 0) this.#onEmpty();
  }
}
