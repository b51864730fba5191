import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { parseCopy } from '../../parse/remote-path.js';

interface CpFlags {
  ignore?: string[];
  user?: string;
  vcs?: boolean;
}

export function addCp(sandbox: Command): void {
  leaf(sandbox, 'cp <from> <to>', 'copy files and directories into a sandbox or out of it')
    .option(
      '-x, --ignore <pattern>',
      'leave out, as in .gitignore; repeatable',
      (text: string, soFar: string[] = []) => [...soFar, text],
    )
    .option('-u, --user <name>', 'user in the sandbox')
    .option('--vcs', 'take .git along from a sandbox; one that writes it can make git run programs here')
    .addHelpText(
      'after',
      `
One side is ID:path; relative paths there start at the user's home. - is standard input or output.
  svc sandbox cp data.csv ID:                into the home
  svc sandbox cp ./src ID:/home/user/src     a directory, its content merged into what is there
  svc sandbox cp ID:results ./results
  svc sandbox cp ID:report.json - | jq .
Of a directory of a sandbox, links that lead out of it, version control, devices and fifos are left out, and files are
writable by you alone.`,
    )
    .action(
      act(async (cli, from: string, to: string, flags: CpFlags) => {
        const copy = parseCopy(from, to);
        const [client, { upload, download }] = await Promise.all([cli.client(), import('./copy-files.js')]);
        const handle = await client.sandboxes.get(copy.sandboxId, { signal: cli.signal });
        await (copy.direction === 'upload' ? upload : download)(cli, handle, copy, flags);
      }),
    );
}
