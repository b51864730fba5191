import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { expiryHelp, parseExpiry } from './expiry.js';
import { keysOf, teamHelp } from './keys-of.js';

export function addCreate(key: Command): void {
  leaf(key, 'create <name>', 'create an API key and print it, which happens only once')
    .option('--team <team>', teamHelp)
    .option('--expires <when>', expiryHelp, (text) => parseExpiry(text))
    .action(
      act(async (cli, name: string, { team, expires }: { team?: string; expires?: Date }) => {
        const keys = await keysOf(cli, team);
        const made = await keys.create(name, { expiresAt: expires, signal: cli.signal });
        cli.out.result(made, () => `${made.key}\n`);
        cli.out.note(`The key is shown only once. Its id is ${made.apiKeyId}.`);
      }),
    );
}
