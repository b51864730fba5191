/** A choice between a few. */
export function Choice(props: {
  label: string;
  value: string;
  /** Values, or values and their words. */
  options: readonly (string | readonly [value: string, words: string])[];
  onChoose: (value: string) => void;
}) {
  const { label, value, options, onChoose } = props;
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {options.map((option) => {
          const [each, words] = typeof option === 'string' ? [option, option] : option;
          return (
            <option key={each} value={each}>
              {words}
            </option>
          );
        })}
      </select>
    </label>
  );
}
