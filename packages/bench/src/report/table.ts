import type { Figure } from '../row.js';

export interface Outcome {
  row: string;
  figures: Figure[];
  /** Why there are none. */
  skipped?: string;
}

export function formatValue(value: number, unit: Figure['unit']): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}

/** Compares: ours divided by the other, where both have the same unit. */
function ratio(figure: Figure, other: Figure['beside'][number]): string {
  if (other.unit !== figure.unit || other.value === 0) return '';
  return ` (${(figure.value / other.value).toFixed(2)} x)`;
}

function cells(figure: Figure): string[] {
  return [
    figure.what,
    formatValue(figure.value, figure.unit),
    figure.target === undefined ? '' : `${figure.target.text}: ${figure.target.met ? 'met' : '**missed**'}`,
    figure.beside
      .map((other) => `${other.name} ${formatValue(other.value, other.unit)}${ratio(figure, other)}`)
      .join('; '),
    figure.how,
  ];
}

/** The outcomes as a Markdown table, which reads well in a terminal too. */
export function renderTable(outcomes: readonly Outcome[]): string {
  const head = ['What', 'Measured', 'Target', 'Beside it (ours is … times)', 'How'];
  const lines = outcomes.flatMap((outcome) => outcome.figures.map(cells));
  const widths = head.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => line[column]!.length)),
  );
  const render = (line: string[]) =>
    `| ${line.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  const skipped = outcomes.filter((outcome) => outcome.skipped !== undefined);
  return [
    render(head),
    rule,
    ...lines.map(render),
    ...(skipped.length === 0
      ? []
      : ['', ...skipped.map((outcome) => `Not measured: ${outcome.row} (${outcome.skipped}).`)]),
  ].join('\n');
}
