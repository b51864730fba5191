import type { Style } from './style.js';

/** One column of a table: its head, and what it says of an item. */
export interface Column<Item> {
  head: string;
  value: (item: Item) => string | number | undefined;
  align?: 'left' | 'right';
}

const gap = '  ';

/** Lays out a table for people: no lines, columns as wide as their widest cell, `-` for what is unknown. Pure. */
export function formatTable<Item>(
  items: readonly Item[],
  columns: readonly Column<Item>[],
  style: Style,
): string {
  const rows = items.map((item) => columns.map(({ value }) => cell(value(item))));
  const widths = columns.map(({ head }, i) =>
    Math.max(width(head), ...rows.map((row) => width(row[i] ?? ''))),
  );
  const layOut = (cells: readonly string[]) =>
    cells
      .map((text, i) => {
        const padding = ' '.repeat(Math.max(0, (widths[i] ?? 0) - width(text)));
        return columns[i]?.align === 'right' ? padding + text : text + padding;
      })
      .join(gap)
      .trimEnd();
  return [style.dim(layOut(columns.map(({ head }) => head))), ...rows.map(layOut)]
    .map((line) => `${line}\n`)
    .join('');
}

/** Lays out names and values of one thing. Values of several lines are indented. Pure. */
export function formatFields(fields: Record<string, string | number | undefined>, style: Style): string {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  const widest = Math.max(0, ...known.map(([name]) => width(name)));
  return known
    .map(([name, value]) => {
      const [first = '', ...more] = String(value).split('\n');
      const indented = more.map((line) => `${' '.repeat(widest + gap.length)}${printable(line)}\n`);
      return `${style.dim(name.padEnd(widest))}${gap}${printable(first)}\n${indented.join('')}`;
    })
    .join('');
}

function cell(value: string | number | undefined): string {
  if (value === undefined || value === '') return '-';
  // A cell is one line: a line end in it would forge a row.
  return printable(String(value)).replaceAll('\n', '\\x0a').replaceAll('\t', '\\x09');
}

/** Makes a service's text safe for the terminal: control characters are shown, the colours of `Style` are kept. */
export function printable(text: string): string {
  return text.replace(
    /\u001b(?!\[\d{1,2}m)|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g,
    (character) => {
      const code = character.charCodeAt(0).toString(16).padStart(2, '0');
      return `\\x${code}`;
    },
  );
}

/** Columns that a text takes in a terminal, colours aside. East Asian wide characters and emoji take two. */
export function width(text: string): number {
  let columns = 0;
  for (const character of text.replace(/\u001b\[\d{1,2}m/g, '')) {
    const wide =
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}]/u.test(
        character,
      );
    columns += /\p{Mark}/u.test(character) ? 0 : wide ? 2 : 1;
  }
  return columns;
}
