import { describeDriver } from '../../src/testing.js';
import { gvisorDriver, gvisorGaps, wholeGvisorSkipReason } from '../support/gvisor-host.js';
import { linuxLeaks } from '../support/linux-leaks.js';

describeDriver('linux with gVisor', (options) => gvisorDriver(options), {
  skip: wholeGvisorSkipReason(),
  leaks: linuxLeaks,
  gaps: gvisorGaps,
});
