import type { ComponentChildren } from 'preact';
import { Known } from './known.js';
import { Empty } from './notice.js';
import type { usePages } from './use-pages.js';

/** The text in the place of an empty list. */
export interface EmptyList {
  /** The message of an empty list. */
  empty: string;
  /** The next step for the reader. */
  hint?: ComponentChildren | false;
}

/** A page of a list that is read by cursor, in every state that it may be in. */
export function Paged<Row>(
  props: EmptyList & {
    pages: ReturnType<typeof usePages<Row>>;
    children: (rows: readonly Row[]) => ComponentChildren;
  },
) {
  const { pages, empty, hint, children } = props;
  return (
    <Known polled={pages}>
      {({ items, nextToken }) => {
        const whole = pages.page === 0 && nextToken === undefined;
        return (
          <>
            {items.length > 0 ? (
              children(items)
            ) : whole ? (
              <Empty title={empty}>{hint && <p>{hint}</p>}</Empty>
            ) : (
              <Empty title="Nothing on this page">
                {nextToken !== undefined && <p>What fits may be on the next ones.</p>}
              </Empty>
            )}
            {!whole && (
              <Pager
                page={pages.page}
                count={items.length}
                hasNext={nextToken !== undefined}
                onPrevious={pages.previous}
                onNext={pages.next}
              />
            )}
          </>
        );
      }}
    </Known>
  );
}

/** Leads from page to page of a list that is read by cursor. `tokens` are those of the pages before this one. */
function Pager(props: {
  page: number;
  count: number;
  hasNext: boolean;
  note?: string | undefined;
  onPrevious: () => void;
  onNext: () => void;
}) {
  const { page, count, hasNext, note, onPrevious, onNext } = props;
  return (
    <nav class="pager" aria-label="Pages">
      <button type="button" disabled={page === 0} onClick={onPrevious}>
        Previous
      </button>
      <span>
        Page {page + 1}, {count} {count === 1 ? 'entry' : 'entries'}
        {note === undefined ? '' : `, ${note}`}
      </span>
      <button type="button" disabled={!hasNext} onClick={onNext}>
        Next
      </button>
    </nav>
  );
}
