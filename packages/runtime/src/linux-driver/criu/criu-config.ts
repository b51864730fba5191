import { SCRIPTS } from '../namespace/script-shell.js';
import { FIND_DIRECTORY_MASK } from './external-mounts.js';

/**
 * Settings for every dump and restore. `manage-cgroups=ignore` needs the equals sign: written with a blank it means
 * "soft", in which CRIU copies the host's whole cgroup tree below the restored one, again and again.
 */
export const CRIU_CONFIG = `tcp-close
skip-in-flight
link-remap
file-locks
ghost-limit 1073741824
manage-cgroups=ignore
network-lock skip
${FIND_DIRECTORY_MASK}
action-script ${SCRIPTS}/criu-hook.sh
`;
