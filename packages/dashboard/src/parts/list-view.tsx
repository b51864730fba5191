import type { ComponentChildren } from 'preact';
import { Empty, Failure, Loading } from './notice.js';
import { Pager } from './pager.js';
import { type Column, Table } from './table.js';
import type { usePages } from './use-pages.js';

/** A list of a view, in every state that it may be in. */
export function ListView<Row>(props: {
  title: string;
  pages: ReturnType<typeof usePages<Row>>;
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
  /** What an empty list says, and what to do about it. */
  empty: string;
  hint?: ComponentChildren;
  /** A part of a view that has a title of its own. */
  part?: boolean;
  children?: ComponentChildren;
}) {
  const { title, pages, columns, keyOf, empty, hint, part, children } = props;
  const { value, error, page } = pages;
  return (
    <>
      <div class="head">
        {part ? <h2>{title}</h2> : <h1>{title}</h1>}
        <div class="buttons">{children}</div>
      </div>
      <Failure error={error} />
      {value === undefined ? (
        error === undefined && <Loading />
      ) : value.items.length === 0 && page === 0 ? (
        <Empty title={empty}>{hint !== undefined && <p>{hint}</p>}</Empty>
      ) : (
        <>
          <Table label={title} rows={value.items} columns={columns} keyOf={keyOf} />
          {(page > 0 || value.nextToken !== undefined) && (
            <Pager
              page={page}
              count={value.items.length}
              hasNext={value.nextToken !== undefined}
              onPrevious={pages.previous}
              onNext={pages.next}
            />
          )}
        </>
      )}
    </>
  );
}
