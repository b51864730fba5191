/** One page of a list. */
export interface Page<Item> {
  /** The items of this page, in the order of the list. */
  readonly items: Item[];
  /** Where the next page starts; undefined on the last page. */
  readonly nextToken: string | undefined;
  /** Number of all running matches, if the service gives it (lists of sandboxes that include running ones). */
  readonly total: number | undefined;
}

/** Reads one page. */
export type FetchPage<Item> = (token: string | undefined) => Promise<Page<Item>>;

/**
 * A list that is read as far as it is used: `await list` gives the first page, `for await (const item of list)` walks
 * over all items, `list.pages()` over all pages. Nothing is sent before one of them is asked for.
 */
export class PageList<Item> implements PromiseLike<Page<Item>>, AsyncIterable<Item> {
  readonly #fetchPage: FetchPage<Item>;
  readonly #start: string | undefined;
  #first: Promise<Page<Item>> | undefined;

  /** @param start token of the page to begin with; absent: the first one. */
  constructor(fetchPage: FetchPage<Item>, start?: string) {
    this.#fetchPage = fetchPage;
    this.#start = start;
  }

  /** Waits for the first page. */
  then<Value = Page<Item>, Failure = never>(
    onValue?: ((page: Page<Item>) => Value | PromiseLike<Value>) | null,
    onFailure?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Value | Failure> {
    this.#first ??= this.#fetchPage(this.#start);
    return this.#first.then(onValue, onFailure);
  }

  /**
   * All pages, from the first on. Each is fetched when it is asked for.
   * @example
   * for await (const page of client.sandboxes.list().pages()) console.log(page.items.length);
   */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    let page: Page<Item> = await this;
    for (;;) {
      yield page;
      if (page.nextToken === undefined) return;
      page = await this.#fetchPage(page.nextToken);
    }
  }

  /** All items, page after page. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* page.items;
  }

  /**
   * Collects items into an array: all of them, or the first `limit`.
   * @example
   * const newest = await client.sandboxes.list().toArray({ limit: 10 });
   */
  async toArray(options: { limit?: number } = {}): Promise<Item[]> {
    const items: Item[] = [];
    const limit = options.limit ?? Number.POSITIVE_INFINITY;
    if (limit <= 0) return items;
    for await (const item of this) {
      items.push(item);
      if (items.length >= limit) break;
    }
    return items;
  }
}
