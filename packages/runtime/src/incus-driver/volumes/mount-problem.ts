/** Pools of which each member has a part of its own. */
const LOCAL_POOLS: readonly string[] = ['btrfs', 'zfs', 'lvm', 'dir'];
const NEEDED_EXTENSIONS: readonly string[] = ['storage_shifted', 'storage_initial_owner'];

/** Why volumes cannot be kept in a storage pool and mounted into sandboxes. Undefined: they can. Pure. */
export function mountProblem(options: {
  pool: string;
  driver: string;
  extensions: readonly string[];
}): string | undefined {
  const { pool, driver, extensions } = options;
  const kept = 'volumes stay on the machine of this server and cannot be mounted';
  if (!LOCAL_POOLS.includes(driver))
    return `The storage pool ${pool} (${driver}) is one that all members share, with which volumes were never tried: ${kept}. With a pool of ${LOCAL_POOLS.join(', ')} they can be.`;
  const missing = NEEDED_EXTENSIONS.filter((name) => !extensions.includes(name));
  if (missing.length > 0)
    return `Incus is too old for volumes (it does not have ${missing.join(', ')}): ${kept}.`;
  return undefined;
}
