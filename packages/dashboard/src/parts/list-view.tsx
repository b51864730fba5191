import type { ComponentChildren } from 'preact';
import { type EmptyList, Paged } from './paged.js';
import { Table, type TableOptions } from './table.js';
import type { usePages } from './use-pages.js';

/** A list of a view: its title, what narrows it, and its rows, page by page. */
export function ListView<Row>(
  props: EmptyList &
    Omit<TableOptions<Row>, 'label' | 'rows'> & {
      title: string;
      pages: ReturnType<typeof usePages<Row>>;
      /** A part of a view that has a title of its own. */
      part?: boolean;
      /** The number of rows, in words. */
      count?: string | undefined;
      /** Fields that narrow it. */
      filters?: ComponentChildren;
      /** The outcome of an act that a button began. */
      told?: ComponentChildren;
      /** Buttons. */
      children?: ComponentChildren;
    },
) {
  const { title, pages, empty, hint, part, count, filters, told, children, ...table } = props;
  return (
    <>
      <div class="head">
        {part ? <h2>{title}</h2> : <h1>{title}</h1>}
        {count !== undefined && <span class="count">{count}</span>}
        <div class="buttons">{children}</div>
      </div>
      {filters !== undefined && (
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          {filters}
        </form>
      )}
      {told}
      <Paged {...{ pages, empty, hint }}>{(rows) => <Table label={title} rows={rows} {...table} />}</Paged>
    </>
  );
}
