import type { SyncMode } from '@svc/sync';
import { type Command, Option } from 'commander';
import { act } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { wholeNumber } from '../../parse/number.js';
import { parseCopy } from '../../parse/remote-path.js';

export function addSyncCommand(sync: Command): void {
  sync
    .argument('<local>', 'directory of this machine')
    .argument('<remote>', 'ID:path of a directory of a sandbox')
    .option('--once', 'end once both sides are equal')
    .option('--push', 'one way: the sandbox follows this machine')
    .option('--pull', 'one way: this machine follows the sandbox')
    .option('--delete', 'with --push or --pull: also delete what the source never had')
    .addOption(
      new Option('--prefer <side>', 'keep this version alone where both changed').choices([
        'local',
        'remote',
        'newer',
      ]),
    )
    .option(
      '-x, --exclude <pattern>',
      'leave out, as in .gitignore; repeatable',
      (text: string, soFar: string[] = []) => [...soFar, text],
    )
    .option('--gitignore', 'leave out what .gitignore files leave out')
    .option('--vcs', 'take .git along; a sandbox that writes it can make git run programs here')
    .option(
      '--max-file-size <MiB>',
      'leave out larger files (default: 4096)',
      wholeNumber('--max-file-size', 1, 1_048_576),
    )
    .option('--allow-empty', 'delete everything on one side when the other side is empty')
    .option('--no-state', 'remember nothing of earlier runs')
    .option('-u, --user <name>', 'user in the sandbox')
    .addHelpText(
      'after',
      `
Keeps both directories equal until Ctrl+C; --once ends when they are. Lines of .svcignore in the local directory are left out.
Where both sides changed a file, the local version stays, and the other one is kept as NAME.conflict-remote-TIME.
  svc sync . ID:app                              both ways
  svc sync ./src ID:/srv/src --push -x '*.log'   this machine decides
  svc sync ./results ID:results --pull --once`,
    )
    .action(
      act(async (cli, local: string, remote: string, flags: SyncFlags) => {
        const mode = modeOf(flags);
        const copy = parseCopy(local, remote);
        if (copy.direction !== 'upload')
          throw new UsageError(
            'The local directory comes first.',
            'svc sync . ID:app; --pull chooses the direction.',
          );
        const { runSync } = await import('./run-sync.js');
        await runSync(
          cli,
          { sandboxId: copy.sandboxId, local: copy.local, remote: copy.remote, mode },
          flags,
        );
      }),
    );
}

/** Flags of `svc sync`. */
export interface SyncFlags {
  once?: boolean;
  push?: boolean;
  pull?: boolean;
  delete?: boolean;
  prefer?: 'local' | 'remote' | 'newer';
  exclude?: string[];
  gitignore?: boolean;
  vcs?: boolean;
  maxFileSize?: number;
  allowEmpty?: boolean;
  /** False: nothing is remembered. */
  state: boolean;
  user?: string;
}

/** Which way changes go. @throws {UsageError} for both at once */
function modeOf({ push, pull, prefer, delete: extra }: Partial<SyncFlags>): SyncMode {
  if (push && pull)
    throw new UsageError('--push and --pull exclude each other.', 'Without either, both sides are followed.');
  const mode = push ? 'push' : pull ? 'pull' : 'two-way';
  if (mode !== 'two-way' && prefer !== undefined)
    throw new UsageError('--prefer decides conflicts, and one way has none.');
  if (mode === 'two-way' && extra) throw new UsageError('--delete goes with --push or --pull.');
  return mode;
}
