import { packageTests } from '../../vitest.shared.js';

// Each step of a test starts a program, which takes seconds on a busy machine.
export default packageTests();
