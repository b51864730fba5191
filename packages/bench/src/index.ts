export { placeTable } from './report/place-table.js';
export { formatValue, type Outcome, renderTable } from './report/table.js';
export type { BenchContext, Figure, Row } from './row.js';
export { rows } from './rows/index.js';
export { quantile, type Summary, summarize } from './statistics.js';
