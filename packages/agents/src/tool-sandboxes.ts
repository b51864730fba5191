import { type Client, type CreateSandboxOptions, NotFoundError, type Sandbox } from '@svc/sdk';

/** Key of the metadata that says who made a sandbox. */
const MADE_BY = 'made-by';
const DEFAULT_TIMEOUT_MS = 15 * 60_000;

export interface ToolSandboxesOptions {
  readonly client: Client;
  /** Settings of new sandboxes. `timeoutMs` is how long one lives after the last tool that used it, default 15 minutes. */
  readonly create?: Omit<CreateSandboxOptions, 'idempotencyKey' | 'signal' | 'requestTimeoutMs'>;
  /**
   * The default sandbox is the one of this name: it stays when the tools end, and is paused when its time is over. Default: one
   * of its own, which lives as long as the tools.
   */
  readonly name?: string | undefined;
  /**
   * The owner of the sandboxes, kept in their metadata as `made-by`: a model may also name those that were made for the same owner
   * before. Default: it may name only those that it made here.
   */
  readonly owner?: string | undefined;
}

/**
 * The sandboxes of one agent: a default one, made on first use, and those that its tools make. Tools reach no other. Each has its
 * own: give two agents two of these, unless they are to share a sandbox.
 */
export class ToolSandboxes implements AsyncDisposable {
  readonly several = true;
  readonly #client: Client;
  readonly #create: CreateSandboxOptions & { timeoutMs: number };
  readonly #name: string | undefined;
  readonly #owner: string | undefined;
  /** Ids of further sandboxes of this process: a copy of a sandbox that was found by its name may be without the metadata. */
  readonly #made = new Set<string>();
  #default: Promise<Sandbox> | undefined;
  #keepAlive: ReturnType<typeof setInterval> | undefined;

  constructor({ client, create = {}, name, owner }: ToolSandboxesOptions) {
    this.#client = client;
    this.#owner = owner;
    const metadata = { ...create.metadata, [MADE_BY]: owner ?? 'agent-tools' };
    this.#create = { ...create, timeoutMs: create.timeoutMs ?? DEFAULT_TIMEOUT_MS, metadata };
    this.#name = name;
  }

  /**
   * The sandbox of an id, or the default one, running; its time to live begins anew. A default one that is deleted is made anew.
   * @throws for an id of none that a tool made
   */
  async use(id?: string): Promise<Sandbox> {
    if (id !== undefined) {
      await this.#requireOurs(id);
      return this.#touch(id);
    }
    const known = this.#default;
    if (known === undefined) return this.#makeDefault();
    try {
      return await this.#touch((await known).id);
    } catch (error) {
      if (!NotFoundError.is(error)) throw error;
      return this.#default === known ? this.#makeDefault() : this.use();
    }
  }

  /** Makes a further sandbox. */
  async create(template?: string): Promise<Sandbox> {
    const made = await this.#client.sandboxes.create({
      ...this.#create,
      ...(template === undefined ? {} : { template }),
    });
    this.#made.add(made.id);
    return made;
  }

  /** Copies a sandbox while it runs. Copies live as long as other sandboxes. */
  async fork(id: string | undefined, count: number): Promise<Awaited<ReturnType<Sandbox['fork']>>> {
    const source = await this.use(id);
    const forks = await source.fork({ count, timeoutMs: this.#create.timeoutMs });
    for (const fork of forks) if (fork.ok) this.#made.add(fork.sandbox.id);
    return forks;
  }

  /** False when there was none. @throws for an id of none that a tool made */
  async kill(id: string): Promise<boolean> {
    try {
      await this.#requireOurs(id);
    } catch (error) {
      if (NotFoundError.is(error)) return false;
      throw error;
    }
    this.#made.delete(id);
    return this.#client.sandboxes.kill(id);
  }

  /** Kills the sandboxes that were made here, but for a default one that has a name. */
  async close(): Promise<void> {
    clearInterval(this.#keepAlive);
    const made = await this.#default?.catch(() => undefined);
    this.#default = undefined;
    const ids = [...this.#made];
    this.#made.clear();
    if (made !== undefined && this.#name === undefined) ids.push(made.id);
    const ends = await Promise.allSettled(ids.map((id) => this.#client.sandboxes.kill(id)));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  /** As `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #makeDefault(): Promise<Sandbox> {
    const { sandboxes } = this.#client;
    const made =
      this.#name === undefined
        ? sandboxes.create(this.#create)
        : sandboxes.getOrCreate({ autoPause: true, ...this.#create, name: this.#name });
    this.#default = made;
    if (this.#name === undefined) this.#keepDefaultAlive();
    // One that could not be made is tried again by the next tool.
    made.catch(() => {
      if (this.#default === made) this.#default = undefined;
    });
    return made;
  }

  /** The user of the tools may think for longer than a sandbox lives; when the tools are killed, the sandbox ends by itself. */
  #keepDefaultAlive(): void {
    clearInterval(this.#keepAlive);
    const touch = () => this.#default?.then(({ id }) => this.#touch(id)).catch(() => undefined);
    this.#keepAlive = setInterval(touch, Math.min(this.#create.timeoutMs / 3, 2 ** 30));
    this.#keepAlive.unref();
  }

  #touch(id: string): Promise<Sandbox> {
    return this.#client.sandboxes.connect(id, { timeoutMs: this.#create.timeoutMs });
  }

  async #requireOurs(id: string): Promise<void> {
    if (this.#made.has(id)) return;
    if (this.#owner !== undefined) {
      const { metadata } = await (await this.#client.sandboxes.get(id)).info();
      if (metadata[MADE_BY] === this.#owner) return;
    }
    throw new Error(`Sandbox ${id} was not made by these tools. Use create_sandbox, or leave "sandbox" out.`);
  }
}
