import { quote } from '#support/quote';
import type { InstanceMount } from '../../contract/instance.js';

/** Memory of the keeper's namespace: nothing that is removed by path lies below or above. */
const DIRECTORY = '/run/mounts';

/**
 * The mounts of an instance with what the OCI runtime binds instead of the directories themselves: binds of them that let
 * no set-uid program and no device node have any effect. Runtimes differ in what they make of such options.
 */
export function boundMounts(name: string, mounts: readonly InstanceMount[]): InstanceMount[] {
  return mounts.map((mount, index) => ({ ...mount, source: `${DIRECTORY}/${name}/${index}` }));
}

/** Shell lines that make the binds, before the instance starts. */
export function bindMounts(name: string, mounts: readonly InstanceMount[]): string {
  if (mounts.length === 0) return '';
  const lines = boundMounts(name, mounts).map(({ source: target }, index) => {
    const source = quote(mounts[index]!.source);
    return `if [ -d ${source} ]; then mkdir ${target}; else : > ${target}; fi
mount --bind -o nosuid,nodev ${source} ${target}`;
  });
  return [`mkdir -p ${DIRECTORY}/${name}`, ...lines].join('\n');
}

/** Shell line that takes them away; fine when there are none. */
export function unbindMounts(name: string): string {
  return `if [ -d ${DIRECTORY}/${name} ]; then for bound in ${DIRECTORY}/${name}/*; do umount -l "$bound"; rmdir "$bound" || rm -f "$bound"; done 2>/dev/null; rmdir ${DIRECTORY}/${name}; fi`;
}
