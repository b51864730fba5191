import { readText } from '../../shared/read-text.js';

/** All hosts, which every device is in. */
const OF_ANY_DEVICE = '224.0.0.1';
/** All nodes of a device and of a link, all routers and snoopers, and the group of each of a device's own addresses. */
const OF_ANY_DEVICE_V6 = /^ff0[125]0{26}(01|02|6a)$|^ff020{19}1ff.{6}$/;

/**
 * Multicast groups that programs have joined, of a network namespace: CRIU stores no membership of a socket, and what is sent to the
 * group would no longer arrive.
 * @param directory `/proc/<pid>/net`
 */
export function multicastGroups(directory: string): string[] {
  const groups = new Set<string>();
  for (const line of (readText(`${directory}/igmp`) ?? '').split('\n')) {
    const [, group] = /^\t+([0-9A-F]{8})\s/.exec(line) ?? [];
    if (group !== undefined) groups.add([...Buffer.from(group, 'hex')].reverse().join('.'));
  }
  groups.delete(OF_ANY_DEVICE);
  for (const line of (readText(`${directory}/igmp6`) ?? '').split('\n')) {
    const [, group] = /^\d+\s+\S+\s+([0-9a-f]{32})\s/.exec(line) ?? [];
    if (group !== undefined && !OF_ANY_DEVICE_V6.test(group)) groups.add(group.replace(/.{4}(?=.)/g, '$&:'));
  }
  return [...groups];
}
