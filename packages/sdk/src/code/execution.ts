import type { CodeChart } from './chart.js';

/** The language of a cell. */
export type CodeLanguage = 'python' | 'javascript' | 'typescript' | 'bash';

/** A kernel with what its cells defined. */
export interface CodeContext {
  id: string;
  /** One of `CodeLanguage`, of a server of ours. */
  language: string;
  /** Working directory of its cells. */
  cwd: string;
}

/** One thing that a cell showed: its last expression, or what it displayed. Each representation that it has. */
export interface CodeResult {
  /** True for the value of the cell's last expression. */
  isMainResult: boolean;
  text?: string;
  html?: string;
  markdown?: string;
  svg?: string;
  /** Base64. */
  png?: string;
  /** Base64. */
  jpeg?: string;
  /** Base64. */
  pdf?: string;
  latex?: string;
  json?: unknown;
  javascript?: string;
  /** A table: the values of each column. Tables of more than 100 000 values have only text and HTML. */
  data?: Record<string, unknown>;
  /** A figure of matplotlib as data. */
  chart?: CodeChart;
  /** Representations of other MIME types, by type. */
  extra: Record<string, unknown>;
}

/** An error that a cell ended with. */
export interface CodeError {
  /** Such as `ZeroDivisionError`; `KernelDied` when the process of the kernel ended; `ExitStatus` of Bash. */
  name: string;
  value: string;
  /** May hold colours of terminals. */
  traceback: string;
}

/** The outcome of a cell. */
export interface Execution {
  /** In the order in which they came. */
  results: CodeResult[];
  /** Everything that was printed. */
  logs: { stdout: string; stderr: string };
  /** Undefined when the cell went through. */
  error: CodeError | undefined;
  /** Number of the cell in its context, from 1. Undefined when the kernel gave none. */
  executionCount: number | undefined;
  /** Text of the main result. */
  text: string | undefined;
}
