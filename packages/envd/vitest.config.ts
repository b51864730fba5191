import { packageTests } from '../../vitest.shared.js';

export default packageTests({ globalSetup: ['./test/build-daemon.ts'] });
