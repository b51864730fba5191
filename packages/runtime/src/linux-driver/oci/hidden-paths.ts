import { existsSync } from 'node:fs';

/**
 * The parts of `/proc` that show the host, its memory, its devices, its other users or how busy neighbours keep it: files, each
 * hidden behind `/dev/null`, and directories, each behind an empty file system. The OCI runtime skips what a kernel does not
 * have.
 */
export const HIDDEN_OF_PROC = `acpi asound bus driver dynamic_debug fs irq pressure scsi
  allocinfo buddyinfo cgroups cmdline config.gz consoles devices diskstats interrupts iomem ioports kallsyms kcore key-users keys kmsg kpagecgroup kpagecount
  kpageflags latency_stats locks mdstat modules mtrr pagetypeinfo partitions sched_debug schedstat slabinfo softirqs swaps
  timer_list timer_stats vmallocinfo vmstat zoneinfo`
  .split(/\s+/)
  .map((name) => `/proc/${name}`);

/** The parts of the host's `/sys` in a sandbox: without them programs do not find out how many processors there are. */
const SHOWN_OF_SYS = ['/sys/devices/system/cpu', '/sys/devices/system/node'];

/** A directory that holds nothing but the mount points of `SHOWN_OF_SYS`, in the keeper's namespace. */
export const SYS = '/run/sys';

/** The directories that have to be made for it. */
export const SYS_DIRECTORIES = SHOWN_OF_SYS.map((path) => path.replace('/sys', SYS));

/**
 * The sandbox's `/sys`. It is not the kernel's: that one shows block devices, file systems, modules and the machine's serial numbers, and more with every release.
 * @param exists whether the host has a path.
 */
export function sysMounts(exists: (path: string) => boolean = existsSync) {
  const bind = (destination: string, source: string) => ({
    destination,
    type: 'bind',
    source,
    options: ['bind', 'ro', 'nosuid', 'noexec', 'nodev'],
  });
  return [bind('/sys', SYS), ...SHOWN_OF_SYS.filter(exists).map((path) => bind(path, path))];
}
