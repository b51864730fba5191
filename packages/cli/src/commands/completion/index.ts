import { Argument, type Command } from 'commander';
import { act } from '../../program/leaf.js';
import { completionScripts, type Shell } from './scripts.js';
import { readTree } from './tree.js';

export function addCompletionCommand(completion: Command): void {
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
        const { buildProgram } = await import('../../program/program.js');
        const nodes = readTree(await buildProgram([], { all: true }));
        cli.out.write(completionScripts[shell](nodes));
      }),
    );
}
