import { mergeConfig } from 'vitest/config';
import { packageTests } from '../../vitest.shared.js';

// One file at a time: each owns the machine's sandboxes while it runs, and two cores are no more than one needs.
export default mergeConfig(packageTests({ fileParallelism: false }), { test: { maxConcurrency: 8 } });
