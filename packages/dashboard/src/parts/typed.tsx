import { useEffect, useRef, useState } from 'preact/hooks';

/** Time for which typing rests before a request, ms. */
const TYPING_MS = 300;

/** A field that reports its text once the typing rests. */
export function Typed(props: {
  label: string;
  value: string;
  placeholder: string;
  /** True when `/` leads here. */
  search?: boolean;
  /** Suggestions; anything else may be typed too. */
  suggestions?: readonly string[];
  onRest: (text: string) => void;
}) {
  const { label, value, placeholder, search, suggestions, onRest } = props;
  const [text, setText] = useState(value);
  // The other filters of the list may have changed while the typing rested.
  const latest = useRef(onRest);
  latest.current = onRest;
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => latest.current(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const list = suggestions === undefined ? undefined : `suggestions-${label.toLowerCase()}`;
  return (
    <label>
      {label}
      <input
        type="search"
        value={text}
        placeholder={placeholder}
        spellcheck={false}
        list={list}
        data-search={search ? '' : undefined}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {suggestions !== undefined && (
        <datalist id={list}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </label>
  );
}
