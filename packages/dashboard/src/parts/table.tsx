import type { ComponentChildren } from 'preact';

/** A column: what it is called, and what it shows of a row. */
export interface Column<Row> {
  name: string;
  show: (row: Row) => ComponentChildren;
  /** Right-aligned digits. */
  numeric?: boolean;
  /** Left out on narrow screens. */
  minor?: boolean;
}

/** A table of rows. */
export function Table<Row>(props: {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
}) {
  const { label, rows, columns, keyOf } = props;
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
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} class={classOf(column)}>
                  {column.show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
