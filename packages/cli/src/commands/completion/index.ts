import { Argument, type Command } from 'commander';
import { act } from '../../cli/leaf.js';
import { completionScripts, type Shell } from './scripts.js';
import { readTree } from './tree.js';

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
