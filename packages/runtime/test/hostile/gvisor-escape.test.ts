import { describeEscapes } from '../../src/testing.js';
import { gvisorDriver, gvisorGaps, wholeGvisorSkipReason } from '../support/gvisor-host.js';

describeEscapes('linux with gVisor', (options) => gvisorDriver(options), {
  skip: wholeGvisorSkipReason(),
  gaps: gvisorGaps,
});
