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
