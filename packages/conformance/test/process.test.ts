import { describeConformance } from '../src/run/describe-conformance.js';
import { startEmbedded } from '../src/targets/embedded.js';

describeConformance('process', () => startEmbedded('process'));
