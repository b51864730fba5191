export { type DescribeDriverOptions, describeDriver } from './testing/contract/describe-driver.js';
export { type CommandResult, DaemonClient, type RunningCommand } from './testing/daemon-client.js';
export { type DescribeEscapesOptions, describeEscapes } from './testing/escapes/describe-escapes.js';
export { forgeArchive, randomNumbers } from './testing/forge-archive.js';
export { readGaps } from './testing/gaps.js';
export {
  type HostileAnswer,
  type HostileDaemon,
  hostileAnswers,
  startHostileDaemon,
} from './testing/hostile-daemon.js';
export {
  type FakeInternet,
  NAMES,
  PROXY_USER,
  type Seen,
  startFakeInternet,
  WORLD,
} from './testing/internet/fake-internet.js';
export { findLeaks, findLinks } from './testing/leaks.js';
export { paxRecord, type TarTestEntry, tarBytes, tarOf, tarOfEntries } from './testing/tar.js';
export { type DriverFactory, type MadeInstance, Workbench } from './testing/workbench.js';
