import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The system user that the server runs as by default. */
export const DEFAULT_USER = 'svc';

/** A user of this machine. */
export interface ServiceUser {
  name: string;
  uid: number;
  gid: number;
}

/** The server cannot run as the user that it is to run as. */
export class ServiceUserError extends Error {
  override readonly name = 'ServiceUserError';
}

/**
 * Finds the user that the server is to run as; makes `svc`, a system user without a home or a login, where it is missing.
 * @throws {ServiceUserError} for root, for one that does not exist, and when the user cannot be made
 */
export async function findServiceUser(name = DEFAULT_USER): Promise<ServiceUser> {
  const found = (await lookUp(name)) ?? (await make(name));
  if (found.uid === 0)
    throw new ServiceUserError(
      `the server does not run as ${name}: it needs no rights of root; leave --user out, or name another user`,
    );
  return found;
}

async function lookUp(name: string): Promise<ServiceUser | undefined> {
  if (!/^[a-z_][a-z0-9_-]{0,31}$/i.test(name))
    throw new ServiceUserError(`"${name}" is no name of a user of this machine`);
  try {
    const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, '--', name])));
    return { name, uid: Number(uid!.stdout), gid: Number(gid!.stdout) };
  } catch {
    return undefined;
  }
}

async function make(name: string): Promise<ServiceUser> {
  if (name !== DEFAULT_USER)
    throw new ServiceUserError(
      `there is no user "${name}" on this machine: make it (useradd --system ${name}), or leave --user out`,
    );
  const options = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'];
  await run('useradd', [...options, '--shell', '/usr/sbin/nologin', name]).catch((error: unknown) => {
    const why = String((error as { stderr?: unknown }).stderr ?? error).trim();
    // Another server may have made it at the same moment: a second look shows it.
    if (!/already exists/.test(why))
      throw new ServiceUserError(
        `the system user "${name}" cannot be made (${why}): make it, or name another with --user`,
      );
  });
  const made = await lookUp(name);
  if (made === undefined) throw new ServiceUserError(`the system user "${name}" was made, but is not found`);
  return made;
}

/** Describes why a user cannot be the server's: the path that it may not read, and advice. */
export async function findHindrance(user: ServiceUser, dataDir: string): Promise<string | undefined> {
  const program = fileURLToPath(import.meta.url);
  if (!(await userMay(user, '-r', program)))
    return `the user "${user.name}" cannot read the server's program (${program}); install it where every user may read, such as /usr/lib`;
  let ancestor = dirname(resolve(dataDir));
  while (!existsSync(ancestor)) ancestor = dirname(ancestor);
  if (!(await userMay(user, '-x', ancestor)))
    return `the user "${user.name}" may not pass through ${ancestor} to the data directory; put it below directories that every user may pass, such as /var/lib`;
  return undefined;
}

/** A user without any special right, in place of one that is yet to be made. */
const NOBODY = 65_534;

/**
 * As whom `svc server up` with the `linux` driver would run the server, started by who asks: a sentence for the operator.
 * Changes nothing; `svc` is made at the first start only.
 */
export async function foreseeUser(dataDir: string): Promise<string> {
  if (process.getuid?.() !== 0) return 'The linux driver needs root: start the server with sudo.';
  const known = await lookUp(DEFAULT_USER);
  const user = known ?? { name: DEFAULT_USER, uid: NOBODY, gid: NOBODY };
  const hindrance = await findHindrance(user, dataDir);
  if (hindrance !== undefined) return `The server would run as root, in one process: ${hindrance}.`;
  const made = known === undefined ? ', a system user made at the first start' : '';
  return `The server would run as the user ${DEFAULT_USER}${made}; svc-runtime, beside it, as root.`;
}

// Root may do anything, so somebody without its rights has to try.
async function userMay({ uid, gid }: ServiceUser, test: '-r' | '-x', path: string): Promise<boolean> {
  // Node keeps the groups of root for a child, so they are dropped by setpriv.
  const as = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--inh-caps=-all'];
  return run('setpriv', [...as, 'test', test, path]).then(
    () => true,
    () => false,
  );
}

/** User and group that files belong to. */
export interface Owner {
  uid: number;
  gid: number;
}

/**
 * Arguments of `setpriv` that give a program of root's the rights of an owner of files and nothing more: it follows no link there to
 * where the owner could not go, and set-uid programs and files with capabilities give it nothing.
 * @param lastSignal what it gets when the process that started it ends, however that ends
 */
export function rightsOf({ uid, gid }: Owner, lastSignal: 'TERM' | 'KILL' = 'TERM'): string[] {
  return [
    ...[`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'],
    ...['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', `--pdeathsig=${lastSignal}`],
  ];
}
