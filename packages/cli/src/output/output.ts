import type { Io } from './io.js';
import { createStyle, type Style, wantsColor } from './style.js';
import { type Column, formatFields, formatTable, printable } from './table.js';

/** Where a command writes. Results go to standard output; everything else to standard error. */
export class Output {
  readonly json: boolean;
  /** Colours of standard output. */
  readonly style: Style;
  /** Colours of standard error. */
  readonly errorStyle: Style;
  /** True when standard error is a terminal that may be redrawn. */
  readonly interactive: boolean;

  readonly #io: Io;

  constructor(io: Io, options: { json: boolean; color: boolean }) {
    const { json, color } = options;
    const { env, stdout, stderr } = io;
    this.#io = io;
    this.json = json;
    this.style = createStyle(color && wantsColor(stdout, env));
    this.errorStyle = createStyle(color && wantsColor(stderr, env));
    this.interactive = stderr.isTTY === true && env.TERM !== 'dumb' && !json;
  }

  /** Columns of standard error; 80 where it is no terminal. */
  get columns(): number {
    return this.#io.stderr.columns ?? 80;
  }

  /** Draws on standard error as it is. */
  draw(text: string): void {
    this.#io.stderr.write(text);
  }

  /** Writes a result as it is. */
  write(data: string | Uint8Array): void {
    this.#io.stdout.write(data);
  }

  /** Writes a line of result. */
  line(text: string): void {
    this.#io.stdout.write(`${text}\n`);
  }

  /** Writes a remark to standard error; nothing with `--json`. */
  note(text: string): void {
    if (!this.json) this.#io.stderr.write(`${printable(text)}\n`);
  }

  /** Writes a warning to standard error, always. */
  warn(text: string): void {
    this.#io.stderr.write(`${this.errorStyle.yellow('warning:')} ${printable(text)}\n`);
  }

  /** Writes a result: the value with `--json`, else the text. */
  result(value: unknown, text: () => string): void {
    if (this.json) this.line(JSON.stringify(value, null, 2));
    else this.write(text());
  }

  /** Writes one record a line with `--json`, else the text: for what has no end. */
  record(value: unknown, text: () => string): void {
    if (this.json) this.line(JSON.stringify(value));
    else this.line(text());
  }

  /**
   * Writes a list: the items with `--json`, else a table, or a remark when there is nothing.
   * @param quiet for `--quiet`: the one word of each item, a line each, instead of the table
   */
  table<Item>(
    items: readonly Item[],
    columns: readonly Column<Item>[],
    empty: string,
    quiet?: (item: Item) => string,
  ): void {
    if (this.json) this.line(JSON.stringify(items, null, 2));
    else if (quiet) this.write(items.map((item) => `${quiet(item)}\n`).join(''));
    else if (items.length === 0) this.note(empty);
    else this.write(formatTable(items, columns, this.style));
  }

  /** Writes one thing: the value with `--json`, else its fields. */
  fields(value: unknown, fields: Record<string, string | number | undefined>): void {
    this.result(value, () => formatFields(fields, this.style));
  }
}
