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
  /** The command of `svc` that lists what its first argument may be. */
  ask: string | undefined;
}

const sandboxes = 'sandbox list --quiet --limit 100';
const templates = 'template list --quiet';

/** What the first argument of the commands of a group may be, by its name in the usage. */
const asks: Record<string, Record<string, string>> = {
  sandbox: { id: sandboxes, ids: sandboxes, template: templates },
  snapshot: { id: sandboxes, snapshots: 'snapshot list --quiet --limit 100' },
  template: { name: templates, names: templates },
  secret: { name: 'secret list --quiet', names: 'secret list --quiet' },
  volume: { volume: 'volume list --quiet', volumes: 'volume list --quiet' },
  webhook: { id: 'webhook list --quiet', ids: 'webhook list --quiet' },
};

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
      ask: asks[path.split(' ')[0] ?? '']?.[command.registeredArguments[0]?.name() ?? ''],
    });
    for (const child of command.commands) visit(child, `${path} ${child.name()}`.trim());
  };
  visit(program, '');
  return nodes;
}
