import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { keysOf, teamHelp } from './keys-of.js';

export function addCreate(key: Command): void {
  leaf(key, 'create <name>', 'create an API key and print it, which happens only once')
    .option('--team <team>', teamHelp)
    .action(
      act(async (cli, name: string, { team }: { team?: string }) => {
        const keys = await keysOf(cli, team);
        const made = await keys.create(name, { signal: cli.signal });
        cli.out.result(made, () => `${made.key}\n`);
        cli.out.note(`The key is shown only once. Its id is ${made.apiKeyId}.`);
      }),
    );
}
