/** Leads from page to page of a list that is read by cursor. `tokens` are those of the pages before this one. */
export function Pager(props: {
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
