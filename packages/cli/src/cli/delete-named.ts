import type { Client } from '@svc/sdk';
import type { Command } from 'commander';
import { ExitWith, exitCodes } from '../errors/cli-error.js';
import type { Cli } from './cli.js';
import { act, leaf } from './leaf.js';

/**
 * Deletes things one after another and reports each. Fails when there was none of one of the names.
 * @param done what to say of one. Default `Deleted`.
 */
export async function deleteNamed(
  cli: Cli,
  what: string,
  names: readonly string[],
  remove: (name: string) => Promise<boolean>,
  done = 'Deleted',
): Promise<void> {
  const results: { name: string; deleted: boolean }[] = [];
  for (const name of new Set(names)) {
    const deleted = await remove(name);
    results.push({ name, deleted });
    if (!cli.out.json) cli.out.line(deleted ? `${done} ${name}` : `There is no ${what} ${name}`);
  }
  if (cli.out.json) cli.out.line(JSON.stringify(results, null, 2));
  if (results.some(({ deleted }) => !deleted)) throw new ExitWith(exitCodes.failure);
}

/**
 * Adds the command `delete` of a kind of records.
 * @param usage its arguments, such as `<names...>`
 * @param of where such records are
 */
export function addDelete(
  group: Command,
  {
    usage,
    summary,
    what,
    of,
  }: { usage: string; summary: string; what: string; of: (client: Client) => Deletes },
): void {
  leaf(group, `delete ${usage}`, summary)
    .alias('rm')
    .action(
      act(async (cli, names: string[]) => {
        const records = of(await cli.client({ destroys: true }));
        await deleteNamed(cli, what, names, (name) => records.delete(name, { signal: cli.signal }));
      }),
    );
}

interface Deletes {
  delete(name: string, options: { signal: AbortSignal }): Promise<boolean>;
}
