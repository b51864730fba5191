import { describeDriver } from '../src/testing.js';
import { gvisorDriver, gvisorGaps, wholeGvisorSkipReason } from './gvisor-host.js';
import { linuxRemains } from './linux-remains.js';

describeDriver('linux with gVisor', (options) => gvisorDriver(options), {
  skip: wholeGvisorSkipReason(),
  remains: linuxRemains,
  gaps: gvisorGaps,
});
