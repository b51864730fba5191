import { fstatSync } from 'node:fs';

/** What standard input is. */
export interface StdinFacts {
  isTerminal: boolean;
  kind: 'pipe' | 'file' | 'socket' | 'other';
}

export function stdinFacts(): StdinFacts {
  try {
    const stat = fstatSync(0);
    const kind = stat.isFIFO() ? 'pipe' : stat.isFile() ? 'file' : stat.isSocket() ? 'socket' : 'other';
    return { isTerminal: process.stdin.isTTY === true, kind };
  } catch {
    return { isTerminal: false, kind: 'other' };
  }
}

/** Whether somebody gave us input: a pipe, a file or a socket; neither a terminal nor `/dev/null`. */
export function pipedIn(facts: StdinFacts = stdinFacts()): boolean {
  return !facts.isTerminal && facts.kind !== 'other';
}

/** The bytes of standard input until its end. */
export async function* readStdin(): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of process.stdin) yield chunk as Uint8Array;
}
