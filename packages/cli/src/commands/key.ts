import type { ApiKey, ApiKeys } from '@svc/sdk';
import type { Command } from 'commander';
import type { Cli } from '../cli/cli.js';
import { deleteNamed } from '../cli/delete-named.js';
import { act, leaf } from '../cli/leaf.js';
import { UsageError } from '../errors/cli-error.js';
import { formatAge, formatDuration, formatUntil } from '../output/format.js';
import { parseDuration } from '../parse/duration.js';

export function addKeyCommands(key: Command): void {
  addCreate(key);
  addList(key);
  addRotate(key);
  addDelete(key);
}

function addCreate(key: Command): void {
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

function addDelete(key: Command): void {
  leaf(key, 'delete <ids...>', 'delete API keys: they stop working at once')
    .alias('rm')
    .option('--team <team>', teamHelp)
    .action(
      act(async (cli, ids: string[], { team }: { team?: string }) => {
        const keys = await keysOf(cli, team, { destroys: true });
        await deleteNamed(cli, 'key', ids, (id) => keys.delete(id, { signal: cli.signal }));
      }),
    );
}

/** Help of `--expires`. */
const expiryHelp = 'when it stops working: 30d from now, or 2027-01-31T12:00:00Z (default: never)';

/** Reads a time to come: a span from now, or a time. Pure but for `now`. */
function parseExpiry(text: string, now: number = Date.now()): Date {
  const time = /^[\d.]+(ms|s|m|h|d)/.test(text) ? new Date(now + parseDuration(text)) : new Date(text);
  if (Number.isNaN(time.getTime()))
    throw new UsageError(`"${text}" is not a time.`, 'Examples: 30d from now, or 2027-01-31T12:00:00Z.');
  if (time.getTime() <= now) throw new UsageError(`--expires must be in the future, got "${text}".`);
  return time;
}

/** The operations on keys that both clients have. */
type Keys = Pick<ApiKeys, 'list' | 'create' | 'delete'>;

/** Help of `--team`. */
const teamHelp = 'keys of this team, through the operator port (default: those of the team of your own key)';

/** Keys of the caller's own team, or, for operators, of any. */
async function keysOf(cli: Cli, team: string | undefined, use: { destroys?: boolean } = {}): Promise<Keys> {
  if (team === undefined) return (await cli.client(use)).apiKeys;
  const { keys } = (await cli.operator(use)).teams;
  return {
    list: (options) => keys.list(team, options),
    create: (name, options) => keys.create(team, name, options),
    delete: (apiKeyId, options) => keys.delete(team, apiKeyId, options),
  };
}

function addList(key: Command): void {
  leaf(key, 'list', 'list API keys, masked')
    .alias('ls')
    .option('--team <team>', teamHelp)
    .action(
      act(async (cli, { team }: { team?: string }) => {
        const keys = await keysOf(cli, team);
        const items = await keys.list({ signal: cli.signal });
        const now = Date.now();
        cli.out.table(
          items,
          [
            { head: 'NAME', value: ({ name }) => name },
            { head: 'ID', value: ({ apiKeyId }) => apiKeyId },
            { head: 'KEY', value: ({ masked }) => masked },
            { head: 'CREATED', value: ({ createdAt }) => formatAge(createdAt, now) },
            { head: 'LAST USED', value: ({ lastUsedAt }) => formatAge(lastUsedAt, now) ?? 'never' },
            { head: 'EXPIRES', value: (item) => expiryOf(item, now) },
          ],
          'No keys. `svc key create NAME` makes one.',
        );
      }),
    );
}

/** Returns in words if and when a key stops working. Pure. */
function expiryOf({ expiresAt, successorId }: ApiKey, now: number): string {
  if (expiresAt === undefined) return 'never';
  const when = expiresAt.getTime() <= now ? 'expired' : formatUntil(expiresAt, now);
  return successorId === undefined ? `${when}` : `${when}, rotated`;
}

const DAY_MS = 86_400_000;

function addRotate(key: Command): void {
  leaf(key, 'rotate <id>', 'make the successor of an API key; the old one stops working after the overlap')
    .option('--overlap <span>', 'how long both work: 0, 1h, 7d (default: 24h)', parseDuration)
    .option('--expires <when>', expiryHelp, (text) => parseExpiry(text))
    .addHelpText(
      'after',
      '\nFor operators, through the operator port, for the keys of every team. Teams make and delete their own keys.',
    )
    .action(
      act(async (cli, id: string, { overlap = DAY_MS, expires }: { overlap?: number; expires?: Date }) => {
        const { keys } = (await cli.operator({ destroys: true })).teams;
        const made = await keys.rotate(id, { overlapMs: overlap, expiresAt: expires, signal: cli.signal });
        cli.out.result(made, () => `${made.key}\n`);
        cli.out.note(`The key is shown only once. Its id is ${made.apiKeyId}.`);
        cli.out.note(
          overlap === 0
            ? 'The old key has stopped working.'
            : `The old key stops working in ${formatDuration(overlap)} at the latest.`,
        );
      }),
    );
}
