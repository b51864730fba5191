import type { CodeChart } from './chart.js';
import type { CodeContext, CodeError, CodeResult } from './execution.js';

/** One line of the answer of `POST /execute`. */
export type CodeEvent =
  | { type: 'stdout' | 'stderr'; text: string }
  | { type: 'result'; result: CodeResult }
  | { type: 'error'; error: CodeError }
  | { type: 'count'; count: number }
  /** `expected` is false when the kernel ended, not the cell. */
  | { type: 'end'; expected: boolean };

const texts = ['text', 'html', 'markdown', 'svg', 'png', 'jpeg', 'pdf', 'latex', 'javascript'] as const;
const known = new Set<string>(['type', 'is_main_result', 'json', 'data', 'chart', 'extra', ...texts]);

/**
 * Reads one line. A program of the sandbox wrote it: what is not as it should be is left out, what is no event at all is
 * refused. Undefined for kinds of events that are not known.
 * @throws Error that says what is wrong
 */
export function parseEvent(line: string): CodeEvent | undefined {
  const fields = asRecord(parseJson(line));
  if (fields === undefined) throw new Error('a line is not an object');
  switch (fields.type) {
    case 'stdout':
    case 'stderr':
      return { type: fields.type, text: asText(fields.text) };
    case 'result':
      return { type: 'result', result: toResult(fields) };
    case 'error': {
      const { name, value, traceback } = fields;
      return {
        type: 'error',
        error: { name: asText(name), value: asText(value), traceback: asText(traceback) },
      };
    }
    case 'number_of_executions':
      return { type: 'count', count: Number(fields.execution_count) };
    case 'end_of_execution':
      return { type: 'end', expected: true };
    case 'unexpected_end_of_execution':
      return { type: 'end', expected: false };
    default:
      return undefined;
  }
}

/** @throws Error for what is no context */
export function toContext(value: unknown): CodeContext {
  const fields = asRecord(value);
  if (typeof fields?.id !== 'string') throw new Error('a context has no id');
  return { id: fields.id, language: asText(fields.language), cwd: asText(fields.cwd) };
}

function toResult(fields: Record<string, unknown>): CodeResult {
  const result: CodeResult = {
    isMainResult: fields.is_main_result === true,
    extra: {
      ...asRecord(fields.extra),
      ...Object.fromEntries(Object.entries(fields).filter(([name]) => !known.has(name))),
    },
  };
  for (const name of texts) {
    const value = fields[name];
    if (typeof value === 'string') result[name] = value;
  }
  if (fields.json !== undefined && fields.json !== null) result.json = fields.json;
  const data = asRecord(fields.data);
  if (data !== undefined) result.data = data;
  const chart = toChart(fields.chart);
  if (chart !== undefined) result.chart = chart;
  return result;
}

function toChart(value: unknown): CodeChart | undefined {
  const fields = asRecord(value);
  if (typeof fields?.type !== 'string' || !Array.isArray(fields.elements)) return undefined;
  return fields as unknown as CodeChart;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new Error('a line is not JSON');
  }
}

function asText(value: unknown): string {
  return typeof value === 'string'
    ? value
    : value === undefined || value === null
      ? ''
      : JSON.stringify(value);
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}
