/** Buttons that choose how far back plots go. */
export function Spans(props: {
  spans: readonly (readonly [name: string, ms: number])[];
  chosen: number;
  onChoose: (ms: number) => void;
}) {
  return (
    <div class="spans">
      {props.spans.map(([name, ms]) => (
        <button
          key={name}
          type="button"
          aria-pressed={ms === props.chosen}
          onClick={() => props.onChoose(ms)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
