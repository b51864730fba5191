import { existsSync } from 'node:fs';
import type { ProgramSpec } from './program.js';

/** What to hand to the system, and as whom. */
export interface Launch {
  file: string;
  args: string[];
  uid?: number;
  gid?: number;
}

const SHELL = '/bin/sh';
const EXEC = 'exec "$@"';
const SETPRIV = '/usr/bin/setpriv';
const CHROOT = ['/usr/sbin/chroot', '/usr/bin/chroot'];

/**
 * The command line that becomes the account and runs the program, always in one process.
 *
 * The runtime can change uid and gid itself but empties the supplementary groups, so an account that has some goes
 * through `setpriv`, else `chroot`. `throughShell` puts `/bin/sh` before the program, which reports what it cannot run.
 */
export function launchCommand(
  spec: Pick<ProgramSpec, 'command' | 'args' | 'identity'>,
  throughShell: boolean,
  exists: (path: string) => boolean = existsSync,
): Launch {
  const program = throughShell
    ? [SHELL, '-c', EXEC, 'sh', spec.command, ...spec.args]
    : [spec.command, ...spec.args];
  const { identity } = spec;
  if (!identity) return split(program);
  const { uid, gid } = identity;
  const extra = identity.groups.filter((group) => group !== gid);
  const viaShell = throughShell ? program : [SHELL, '-c', EXEC, 'sh', ...program];
  if (extra.length > 0) {
    if (exists(SETPRIV)) {
      return split([
        SETPRIV,
        `--reuid=${uid}`,
        `--regid=${gid}`,
        `--groups=${extra.join(',')}`,
        '--',
        ...viaShell,
      ]);
    }
    const chroot = CHROOT.find(exists);
    if (chroot) {
      const flags = [`--userspec=${uid}:${gid}`, `--groups=${extra.join(',')}`, '--skip-chdir', '/'];
      return split([chroot, ...flags, ...viaShell]);
    }
  }
  return { ...split(program), uid, gid };
}

function split(command: readonly string[]): Launch {
  return { file: command[0]!, args: command.slice(1) };
}
