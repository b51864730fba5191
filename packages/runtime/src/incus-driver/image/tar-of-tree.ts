import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { SCRIPT_ENVIRONMENT } from '../../shared/script-environment.js';

/** The files of a directory as a tar archive, with owners, modes and file capabilities. Reading all of them takes root. */
export async function* tarOfTree(
  directory: string,
  options: { ownedByRoot?: boolean } = {},
): AsyncGenerator<Buffer> {
  const owner = options.ownedByRoot === true ? ['--owner=0', '--group=0'] : [];
  const child = spawn(
    'tar',
    [
      '-C',
      directory,
      '--format=pax',
      '--pax-option=delete=atime,delete=ctime',
      '--numeric-owner',
      '--xattrs',
      '--sort=name',
      ...owner,
      '-c',
      '.',
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: SCRIPT_ENVIRONMENT },
  );
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < 4000) stderr += text;
  });
  const closed = once(child, 'close') as Promise<[number | null]>;
  try {
    yield* child.stdout;
    const [code] = await closed;
    if (code !== 0) throw new Error(`tar of ${directory} ended with ${code}: ${stderr.trim()}`);
  } finally {
    child.kill('SIGKILL');
    closed.catch(() => undefined);
  }
}
