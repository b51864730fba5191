import { expect, it } from 'vitest';
import { exitCodeOf } from '../src/exit-code.js';

it.each([
  [{ exitCode: 0 }, 0],
  [{ exitCode: 7, error: 'exit status 7' }, 7],
  [{ exitCode: -1, error: 'signal: killed' }, 137],
  [{ exitCode: -1, error: 'signal: terminated' }, 143],
  [{ exitCode: -1, error: 'signal: segmentation fault' }, 139],
  [{ exitCode: -1, error: 'signal: whatever' }, 1],
])('ends for %j with %d', (end, code) => expect(exitCodeOf(end)).toBe(code));
