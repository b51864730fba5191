import type { OciConfig } from '../oci/oci-config.js';

type Resources = OciConfig['linux']['resources'];

/**
 * Memory that gVisor's kernel and its file server take beside what programs get, MiB: about 70 when idle, more with many
 * open files and connections.
 */
const OVERHEAD_MIB = 160;
/** Processes and threads of the host that they take. */
const OVERHEAD_PIDS = 160;

/**
 * The configuration of an instance on gVisor's kernel: that kernel makes `/proc`, `/sys` and `/dev` by itself, and needs
 * neither a filter of system calls nor hidden paths. The network namespace is there already.
 * @param network path of the network namespace.
 */
export function gvisorConfig(config: OciConfig, network: string) {
  const { ociVersion, process, root, hostname, mounts, linux } = config;
  const own = mounts.filter(({ destination }) => !/^\/(dev|sys)(\/|$)/.test(destination));
  return {
    ociVersion,
    process,
    root,
    hostname,
    mounts: [
      ...own,
      {
        destination: '/dev/shm',
        type: 'tmpfs',
        source: 'shm',
        options: ['nosuid', 'noexec', 'nodev', 'mode=1777', 'size=65536k'],
      },
    ],
    linux: {
      namespaces: [
        ...['pid', 'mount', 'uts', 'ipc'].map((type) => ({ type })),
        { type: 'network', path: network },
      ],
      resources: linux.resources,
    },
  };
}

/** Limits of the cgroup that holds gVisor's kernel with all that runs on it. */
export function gvisorResources(resources: Resources): Resources {
  const { memory, pids } = resources;
  const add = (bytes: number) => bytes + OVERHEAD_MIB * 2 ** 20;
  return {
    ...resources,
    ...(memory === undefined
      ? {}
      : {
          memory: {
            limit: add(memory.limit),
            ...(memory.swap === undefined ? {} : { swap: add(memory.swap) }),
          },
        }),
    ...(pids === undefined ? {} : { pids: { limit: pids.limit + OVERHEAD_PIDS } }),
  };
}

/** The `/proc/meminfo` that the runtime reads as the host's: the memory of the sandbox. */
export function meminfo(totalBytes: number): string {
  const kib = Math.floor(totalBytes / 1024);
  return ['MemTotal', 'MemFree', 'MemAvailable'].map((name) => `${name}: ${kib} kB\n`).join('');
}
