import { packageTests } from '../../vitest.shared.js';

// The files of this package start real instances and compare what the host holds before and after.
export default packageTests({
  globalSetup: ['./test/support/envd-program.ts'],
  setupFiles: ['./test/support/show-details.ts'],
  fileParallelism: false,
});
