import { describeForks } from '../support/fork-suite.js';
import { gvisorDriver, gvisorGaps, wholeGvisorSkipReason } from '../support/gvisor-host.js';

describeForks('linux with gVisor', (options) => gvisorDriver(options, 16_384), {
  skip: wholeGvisorSkipReason(),
  gaps: gvisorGaps,
  most: 8,
});
