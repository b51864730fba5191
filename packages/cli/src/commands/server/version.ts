import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { cliVersion } from '../../cli/version.js';

/** What a program of the service says of itself, to people and to the upgrade that is to install it. */
export interface ProgramVersion {
  version: string;
  /** Steps of the database's schema that it knows, in their order. */
  schema: readonly string[];
}

export function addVersion(server: Command): void {
  leaf(
    server,
    'version',
    'tell which version of the server this program is, and which schema it knows',
  ).action(
    act(async (cli) => {
      const { schemaSteps } = await import('@svc/server');
      const found: ProgramVersion = { version: cliVersion, schema: schemaSteps };
      cli.out.fields(
        { ...found, node: process.version },
        { Version: cliVersion, Schema: schemaSteps.at(-1), Node: process.version },
      );
    }),
  );
}
