import { quote } from '#support/quote';

/** A call of a function in `assets/functions`. */
export interface ScriptCall {
  name: string;
  /** Words that follow the name. */
  arguments?: readonly string[];
  /** The variables of the function, by names in capitals. An absent value is empty. */
  variables?: Readonly<Record<string, string | number | undefined>>;
}

export interface ScriptOptions {
  /** Longest that the call may take, ms; then it is killed with all that it started. */
  timeoutMs: number;
  /** Characters of output kept, each stream. Default 256 Ki. */
  outputLimit?: number;
  /** Called when the function asks something; `answer` gives it one word. */
  onAsk?: (answer: (word: string) => void) => void;
}

export interface ScriptResult {
  /** Exit code; 137 when the shell was killed; undefined after the timeout. */
  code: number | undefined;
  timedOut: boolean;
  /** The answers of the function, by name. */
  answers: Record<string, string>;
  /** For people. */
  stderr: string;
}

/** The text of a call, as the shell reads it. */
export function formatCall({ name, variables = {}, arguments: words = [] }: ScriptCall): string {
  const assignments = Object.entries(variables).map(
    ([key, value]) => `${key}=${quote(String(value ?? ''))}\n`,
  );
  return `${assignments.join('')}${[name, ...words.map(quote)].join(' ')}\n`;
}

/** Reads lines of the form `name=value`. */
export function parseAnswers(text: string): Record<string, string> {
  const answers: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const end = line.indexOf('=');
    if (end > 0) answers[line.slice(0, end)] = line.slice(end + 1);
  }
  return answers;
}
