import { packageTests } from '../vitest.shared.js';

export default packageTests({ testTimeout: 180_000, fileParallelism: false });
