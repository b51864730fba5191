import type { Command } from 'commander';
import { act, leaf } from '../../program/leaf.js';

export function addPublish(template: Command): void {
  leaf(template, 'publish <name>', 'let every team of the service start sandboxes from a template').action(
    setPublic(true),
  );
}

export function addUnpublish(template: Command): void {
  leaf(template, 'unpublish <name>', 'keep a template for this team alone again').action(setPublic(false));
}

function setPublic(everyone: boolean) {
  return act(async (cli, name: string) => {
    const client = await cli.client();
    const { names } = await client.templates.update(name, { public: everyone }, { signal: cli.signal });
    cli.out.result(
      { name, names, public: everyone },
      () => `${names[0] ?? name} is ${everyone ? 'public' : 'private'}.\n`,
    );
  });
}
