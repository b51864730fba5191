import { readdirSync } from 'node:fs';
import { createLinuxDriver } from '../src/linux-driver/index.js';
import { pathsOf } from '../src/linux-driver/state/paths.js';
import { describeDriver } from '../src/testing.js';
import { envdBundle } from './envd-bundle.js';
import { linuxSkipReason } from './linux-host.js';

describeDriver(
  'linux',
  ({ dataDir }) => createLinuxDriver({ dataDir, daemon: envdBundle, storeSizeMiB: 4096 }),
  {
    skip: linuxSkipReason(),
    remains: (dataDir) => {
      const { tag } = pathsOf(dataDir);
      const links = readdirSync('/sys/class/net').filter((name) => name.includes(tag));
      const cgroups = readdirSync('/sys/fs/cgroup').flatMap((controller) => {
        try {
          return readdirSync(`/sys/fs/cgroup/${controller}`).filter((name) => name.includes(tag));
        } catch {
          return [];
        }
      });
      return [...links.map((name) => `link ${name}`), ...cgroups.map((name) => `cgroup ${name}`)];
    },
  },
);
