import { describe, expect, it } from 'vitest';
import { isInsideVfork } from '../../src/linux-driver/criu/quiesce.js';
import { explainDumpFailure, ranOutOfTime } from '../../src/linux-driver/criu/undumpable.js';

describe("what CRIU's log of a failed dump says", () => {
  it('is no fault of a program when the host was too busy to stop all of them in time', () => {
    const log = [
      "Error (criu/util.c:1534): rlimit: Can't setup RLIMIT_NOFILE for self: Operation not permitted",
      'Error (criu/cr-dump.c:1655): Timeout reached. Try to interrupt: 0',
      'Error (compel/src/lib/infect.c:262): Unseizable non-zombie 78792 found, state D, err -1/4',
      'Error (criu/cr-dump.c:1975): Dumping FAILED.',
    ].join('\n');
    expect(ranOutOfTime(log)).toBe(true);
  });

  it('names what a program uses', () => {
    const log = "Error (criu/files-ext.c:96): Can't dump file 7 of that type [600] (io_uring)";
    expect(ranOutOfTime(log)).toBe(false);
    expect(explainDumpFailure(log)).toBe('a program uses io_uring');
  });
});

describe('a process that starts a program', () => {
  const calls = { vfork: 58, clone: 56, clone3: 435 };
  it.each([
    ['58 0x0 0x0 0x7ffc 0x7fff', true],
    ['56 0x4011 0x0 0x0 0x0 0x0 0x7ffd 0x7fff', true],
    ['56 0x1200011 0x0 0x0 0x0 0x0 0x7ffd 0x7fff', false],
    ['435 0x7ffc 0x58 0x0 0x0 0x0 0x7ffd 0x7fff', true],
    ['270 0x0 0x0 0x0 0x0 0x7ffe 0x0 0x7ffe', false],
    ['-1 0x7ffe 0x7fc6', false],
    ['running', false],
    [undefined, false],
  ])('stands in %s: %s', (text, expected) => {
    expect(isInsideVfork(text, calls)).toBe(expected);
  });
});
