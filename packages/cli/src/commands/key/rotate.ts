import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatDuration } from '../../output/format.js';
import { parseDuration } from '../../parse/duration.js';
import { expiryHelp, parseExpiry } from './expiry.js';

const DAY_MS = 86_400_000;

export function addRotate(key: Command): void {
  leaf(key, 'rotate <id>', 'make the successor of an API key; the old one stops working after the overlap')
    .option('--overlap <span>', 'how long both work: 0, 1h, 7d (default: 24h)', parseDuration)
    .option('--expires <when>', expiryHelp, (text) => parseExpiry(text))
    .addHelpText(
      'after',
      '\nFor who runs the server, through its operator port, for the keys of every team. Teams make and delete their own keys.',
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
