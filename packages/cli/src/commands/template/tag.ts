import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { formatAge } from '../../output/format.js';

export function addTag(template: Command): void {
  leaf(
    template,
    'tag <name> [tags...]',
    'list the tags of a template, or set tags on the build of name[:tag]',
  )
    .option('--delete', 'remove the tags; builds stay')
    .action(
      act(async (cli, name: string, tags: string[], flags: { delete?: boolean }) => {
        const { signal } = cli;
        if (flags.delete && tags.length === 0) throw new UsageError('Give the tags to remove.');
        const client = await cli.client({ destroys: flags.delete === true });
        if (flags.delete) {
          await client.templates.tags.delete(name, tags, { signal });
          cli.out.result({ name, deleted: tags }, () => `Removed ${tags.join(', ')}\n`);
        } else if (tags.length > 0) {
          const assigned = await client.templates.tags.assign(name, tags, { signal });
          cli.out.result(assigned, () => `${assigned.tags.join(', ')}  ${assigned.buildId}\n`);
        } else {
          const known = await client.templates.tags.list(name, { signal });
          const now = Date.now();
          cli.out.table(
            known,
            [
              { head: 'TAG', value: ({ tag }) => tag },
              { head: 'BUILD', value: ({ buildId }) => buildId },
              { head: 'SET', value: ({ createdAt }) => formatAge(createdAt, now) },
            ],
            'No tags.',
          );
        }
      }),
    );
}
