/** How much of something a sandbox uses, with a bar; of one that is paused, and of one without a sample, how much it may. */
export function Used(props: {
  running: boolean;
  /** Of what it may; undefined: not known. */
  percent: number | undefined;
  format: (percent: number) => string;
  most: string;
}) {
  const { running, percent, format, most } = props;
  // One element: thousands of sandboxes may be paused.
  if (percent === undefined)
    return (
      <span
        class="faint"
        title={running ? 'No sample yet: one is taken about every five seconds.' : 'Paused: it uses none.'}
      >
        – of {most}
      </span>
    );
  return (
    <span class="used">
      {format(percent)} <span class="faint">of {most}</span>
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${Math.min(Math.max(percent, 0), 100)}%` }} />
      </span>
    </span>
  );
}
