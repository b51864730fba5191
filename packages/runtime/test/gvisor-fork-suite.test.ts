import { describeForks } from './fork-suite.js';
import { gvisorDriver, gvisorGaps, wholeGvisorSkipReason } from './gvisor-host.js';

describeForks('linux with gVisor', (options) => gvisorDriver(options, 16_384), {
  skip: wholeGvisorSkipReason(),
  gaps: gvisorGaps,
  most: 8,
});
