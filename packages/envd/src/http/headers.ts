type HeadersSource = Iterable<readonly [string, string]> | Readonly<Record<string, string>>;

/**
 * What the RPC library needs of the web's `Headers`, put in its place by the build. The runtime's own comes with a whole
 * HTTP client, whose loading costs more than everything else that a first call does.
 */
class LightHeaders {
  readonly #fields = new Map<string, string>();

  constructor(source?: HeadersSource) {
    if (source === undefined || source === null) return;
    const fields = Symbol.iterator in source ? source : Object.entries(source);
    for (const [name, value] of fields as Iterable<readonly [string, string]>) this.append(name, value);
  }

  append(name: string, value: string): void {
    const key = fieldName(name);
    const before = this.#fields.get(key);
    const text = fieldValue(value);
    this.#fields.set(key, before === undefined ? text : `${before}, ${text}`);
  }

  set(name: string, value: string): void {
    this.#fields.set(fieldName(name), fieldValue(value));
  }

  get(name: string): string | null {
    return this.#fields.get(fieldName(name)) ?? null;
  }

  has(name: string): boolean {
    return this.#fields.has(fieldName(name));
  }

  delete(name: string): void {
    this.#fields.delete(fieldName(name));
  }

  forEach(visit: (value: string, name: string, headers: LightHeaders) => void): void {
    for (const [name, value] of this.#fields) visit(value, name, this);
  }

  entries(): IterableIterator<[string, string]> {
    return this.#fields.entries();
  }

  keys(): IterableIterator<string> {
    return this.#fields.keys();
  }

  values(): IterableIterator<string> {
    return this.#fields.values();
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.#fields.entries();
  }
}

export { LightHeaders as Headers };

function fieldName(name: string): string {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
    throw new TypeError(`invalid header name ${JSON.stringify(name)}`);
  return name.toLowerCase();
}

function fieldValue(value: string): string {
  const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
  if (/[\0\r\n]/.test(text)) throw new TypeError('a header value holds a line break');
  return text;
}
