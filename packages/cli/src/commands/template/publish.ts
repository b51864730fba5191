import type { Command } from 'commander';
import type { Cli } from '../../cli/cli.js';
import { act, leaf } from '../../cli/leaf.js';

export function addPublish(template: Command): void {
  leaf(template, 'publish <name>', 'let every team of the service start sandboxes from a template')
    .option(
      '--with-memory',
      'also publish the memory of programs: every team can then read it, keys included',
    )
    .action(
      act((cli, name: string, flags: { withMemory?: boolean }) =>
        setPublic(cli, name, { public: true, ...(flags.withMemory ? { publishMemory: true } : {}) }),
      ),
    );
}

export function addUnpublish(template: Command): void {
  leaf(template, 'unpublish <name>', 'make a template private to this team again').action(
    act((cli, name: string) => setPublic(cli, name, { public: false })),
  );
}

async function setPublic(
  cli: Cli,
  name: string,
  change: { public: boolean; publishMemory?: boolean },
): Promise<void> {
  const client = await cli.client();
  const { names } = await client.templates.update(name, change, { signal: cli.signal });
  cli.out.result(
    { name, names, public: change.public },
    () => `${names[0] ?? name} is ${change.public ? 'public' : 'private'}.\n`,
  );
}
