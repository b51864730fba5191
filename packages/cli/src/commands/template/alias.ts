import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';

export function addAlias(template: Command): void {
  leaf(template, 'alias <name>', 'show which template a name stands for').action(
    act(async (cli, name: string) => {
      const client = await cli.client();
      const found = await client.templates.aliases.get(name, { signal: cli.signal });
      cli.out.result(found, () => `${found.templateId}${found.public ? '  public' : ''}\n`);
    }),
  );
}
