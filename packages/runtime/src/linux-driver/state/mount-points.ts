// All of it stands in memory of the keeper's namespace, below directories that everybody may pass: to the kernel, root of
// an instance is nobody there.

/** The store's agents, each as `<AGENTS>/<name>`. */
export const AGENTS = '/run/agents';

/** Where the directories of the instances' mounts are. */
export const INSTANCES = '/run/instances';

/** Directory of an instance's own mounts. */
export function mountsOf(name: string): string {
  return `${INSTANCES}/${name}`;
}

/** Where its merged root file system is mounted. */
export function rootOf(name: string): string {
  return `${mountsOf(name)}/m`;
}

/** Where its `/usr` is mounted when that is an overlay of its own. */
export function usrOf(name: string): string {
  return `${mountsOf(name)}/usr`;
}

/** Directory of the binds of what is mounted into an instance. */
export function bindsOf(name: string): string {
  return `/run/mounts/${name}`;
}
