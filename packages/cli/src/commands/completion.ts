import { Argument, type Command } from 'commander';
import { act } from '../cli/leaf.js';

/** @param readProgram gives the tree of all commands */
export function addCompletionCommand(completion: Command, readProgram: () => Promise<Command>): void {
  completion
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(completionScripts)))
    .addHelpText(
      'after',
      `
bash:  svc completion bash > ~/.local/share/bash-completion/completions/svc
zsh:   svc completion zsh > "\${fpath[1]}/_svc"
fish:  svc completion fish > ~/.config/fish/completions/svc.fish`,
    )
    .action(
      act(async (cli, shell: Shell) => {
        cli.out.write(completionScripts[shell](readTree(await readProgram())));
      }),
    );
}

type Shell = 'bash' | 'zsh' | 'fish';

const header = 'Completion of svc; made by `svc completion`.';
// Names are asked for when they are wanted; without a server there are none.

/** The script of each shell. Pure. */
export const completionScripts: Record<Shell, (nodes: readonly CompletionNode[]) => string> = {
  bash,
  zsh,
  fish,
};

function bash(nodes: readonly CompletionNode[]): string {
  const cases = nodes.map(({ path, commands, options, ask }) => {
    const words = [...commands, ...options].map(({ word }) => word).join(' ');
    return `    '${path}') words='${words}'; ask='${ask ?? ''}' ;;`;
  });
  return `# ${header}
_svc() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path='' words='' ask='' at=0 i word
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    [[ $word == -* ]] && continue
    ((at++))
    ((at <= 2)) && path="\${path:+$path }$word"
  done
  case $path in
${cases.join('\n')}
  esac
  if [[ -n $ask && $at == 2 && $cur != -* ]]; then words=$(svc $ask 2>/dev/null); fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _svc svc
`;
}

function zsh(nodes: readonly CompletionNode[]): string {
  const cases = nodes.map(({ path, commands, options, ask }) => {
    const words = [...commands, ...options].map((suggestion) => zshWord(suggestion)).join(' ');
    return `    '${path}') words_=(${words}); ask='${ask ?? ''}' ;;`;
  });
  return `#compdef svc
# ${header}
_svc() {
  local path_='' ask='' at=0 i word
  local -a words_ names
  for ((i = 2; i < CURRENT; i++)); do
    word=$words[i]
    [[ $word == -* ]] && continue
    ((at++))
    ((at <= 2)) && path_="\${path_:+$path_ }$word"
  done
  case $path_ in
${cases.join('\n')}
  esac
  if [[ -n $ask && $at == 2 && $PREFIX != -* ]]; then
    names=(\${(f)"$(svc \${=ask} 2>/dev/null)"})
    compadd -a names
    return
  fi
  _describe 'svc' words_ || _files
}
compdef _svc svc
`;
}

function zshWord({ word, about }: Suggestion): string {
  return `'${`${word}:${about}`.replaceAll("'", "'\\''")}'`;
}

function fish(nodes: readonly CompletionNode[]): string {
  const lines = nodes.flatMap(({ path, commands, options, ask }) => {
    const depth = path === '' ? 0 : path.split(' ').length;
    const when = `-n "__svc_at ${depth} '${path}'"`;
    return [
      ...commands.map(({ word, about }) => `complete -c svc -f ${when} -a ${word} -d ${fishWord(about)}`),
      ...options
        .filter(({ word }) => word.startsWith('--'))
        .map(({ word, about }) => `complete -c svc ${when} -l ${word.slice(2)} -d ${fishWord(about)}`),
      ...(ask === undefined ? [] : [`complete -c svc -f ${when} -a "(svc ${ask} 2>/dev/null)"`]),
    ];
  });
  return `# ${header}
function __svc_at
  set -l words
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; or set -a words $word
  end
  test (count $words) -ge $argv[1]; and test "$words[1..2]" = "$argv[2]"
end
${lines.join('\n')}
`;
}

function fishWord(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** A word that may follow. */
interface Suggestion {
  word: string;
  about: string;
}

/** The completions of one command. */
interface CompletionNode {
  /** Words from the program's name on, without it: `sandbox create`; empty for the program. */
  path: string;
  commands: Suggestion[];
  options: Suggestion[];
  /** The command of `svc` that lists what its first argument may be. */
  ask: string | undefined;
}

const sandboxes = 'sandbox list --quiet --limit 100';
const templates = 'template list --quiet';

/** Completions of the first argument of a group's commands, by its name in the usage. */
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
