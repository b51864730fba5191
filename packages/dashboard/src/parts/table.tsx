import { type ComponentChildren, Fragment, type RefObject } from 'preact';

/** A column: what it is called, and what it shows of a row. */
export interface Column<Row> {
  name: string;
  show: (row: Row) => ComponentChildren;
  /** Right-aligned digits. */
  numeric?: boolean;
  /** Left out on narrow screens. */
  minor?: boolean;
}

export interface TableOptions<Row> {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
  /** The content below a row; false: nothing. */
  below?: (row: Row) => ComponentChildren | false;
  /** Where the rows are, for code that must know which are seen. */
  body?: RefObject<HTMLTableSectionElement>;
}

/** A table of rows. */
export function Table<Row>({ label, rows, columns, keyOf, below, body }: TableOptions<Row>) {
  const classOf = ({ numeric, minor }: Column<Row>) =>
    [numeric ? 'numeric' : '', minor ? 'minor' : ''].join(' ').trim();
  return (
    <div class="table">
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={classOf(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body ?? null}>
          {rows.map((row) => {
            const more = below?.(row) ?? false;
            return (
              <Fragment key={keyOf(row)}>
                <tr data-key={keyOf(row)}>
                  {columns.map((column) => (
                    <td key={column.name} class={classOf(column)}>
                      {column.show(row)}
                    </td>
                  ))}
                </tr>
                {more !== false && (
                  <tr class="below">
                    <td colSpan={columns.length}>{more}</td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
