import type { Volume } from '@svc/sdk';
import type { Cli } from '../../cli/cli.js';
import { CliError } from '../../errors/cli-error.js';

/** A volume by name or id: people know names, the API takes ids. @throws {CliError} when there is none */
export async function findVolume(
  cli: Cli,
  nameOrId: string,
  use: { destroys?: boolean } = {},
): Promise<Volume> {
  const client = await cli.client(use);
  const volumes = await client.volumes.list({ signal: cli.signal });
  const found =
    volumes.find(({ name }) => name === nameOrId) ?? volumes.find(({ volumeId }) => volumeId === nameOrId);
  if (found !== undefined) return found;
  throw new CliError(`There is no volume ${nameOrId}.`, {
    code: 'volume_not_found',
    hint: '`svc volume list` shows the volumes.',
  });
}
