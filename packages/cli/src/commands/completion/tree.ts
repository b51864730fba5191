import type { Command } from 'commander';

/** A word that may follow. */
export interface Suggestion {
  word: string;
  about: string;
}

/** What may follow one command. */
export interface CompletionNode {
  /** Words from the program's name on, without it: `sandbox create`; empty for the program. */
  path: string;
  commands: Suggestion[];
  options: Suggestion[];
  /** Whether its first argument is the id of a sandbox. */
  takesSandbox: boolean;
}

/** Reads all commands with what may follow each. */
export function readTree(program: Command): CompletionNode[] {
  const nodes: CompletionNode[] = [];
  const visit = (command: Command, path: string) => {
    nodes.push({
      path,
      commands: command.commands.map((child) => ({ word: child.name(), about: child.summary() })),
      options: command.options
        .filter(({ hidden }) => !hidden)
        .map(({ long, short, description }) => ({ word: long ?? short ?? '', about: description })),
      takesSandbox:
        path.startsWith('sandbox ') && /^ids?$/.test(command.registeredArguments[0]?.name() ?? ''),
    });
    for (const child of command.commands) visit(child, `${path} ${child.name()}`.trim());
  };
  visit(program, '');
  return nodes;
}
