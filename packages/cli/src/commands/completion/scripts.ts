import type { CompletionNode, Suggestion } from './tree.js';

export type Shell = 'bash' | 'zsh' | 'fish';

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
