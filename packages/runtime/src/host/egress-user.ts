import { readText } from '../shared/read-text.js';

/** The system user of egress processes. `doctor --fix` makes it. */
export const EGRESS_USER = 'svc-egress';

/** A number that Debian gives to nobody, for hosts without that user. */
const FALLBACK_UID = 64_953;

export function hasEgressUser(): boolean {
  return egressUser() !== FALLBACK_UID;
}

/** Number of the user (and group) that egress processes run as. Nothing on the host belongs to it. */
export function egressUser(passwd = readText('/etc/passwd') ?? ''): number {
  const line = passwd.split('\n').find((each) => each.startsWith(`${EGRESS_USER}:`));
  const uid = Number(line?.split(':')[2]);
  return Number.isInteger(uid) && uid > 0 ? uid : FALLBACK_UID;
}
