import { describe, expect, it } from 'vitest';
import { hostBlock, putBlock } from '../../src/commands/ssh/config.js';
import { hostOfSandbox, isHostPattern, sandboxOfHost } from '../../src/commands/ssh/host-name.js';
import { splitWords } from '../../src/commands/ssh/ssh.js';

describe('set-up of clients', () => {
  it('puts its block first, once, and leaves the rest of the file alone', () => {
    const block = hostBlock('*.svc', [['User', 'default']]);
    const mine = 'ForwardAgent yes\nHost other\n  User me\n';
    const once = putBlock(mine, block);
    expect(once.startsWith(block)).toBe(true);
    expect(once.endsWith(mine)).toBe(true);
    expect(putBlock(once, block)).toBe(once);
    expect(putBlock(`# first\n${once}`, hostBlock('svc-*', []))).toBe(
      `# first\n${hostBlock('svc-*', [])}\n${mine}`,
    );
    expect(putBlock('', block)).toBe(block);
  });

  it('finds the sandbox in a host name', () => {
    expect(sandboxOfHost('Work.svc', '*.svc')).toBe('Work');
    expect(sandboxOfHost('Work', '*.svc')).toBe('Work');
    expect(sandboxOfHost('svc-a.b', 'svc-*')).toBe('a.b');
    expect(hostOfSandbox('Work', '*.svc')).toBe('Work.svc');
    expect(hostOfSandbox('Work.svc', '*.svc')).toBe('Work.svc');
    expect(['*.svc', 'svc-*', 'a*b'].every(isHostPattern)).toBe(true);
    expect(['*', 'svc', '*.*', 'a b*', '*\nProxyCommand x', ''].some(isHostPattern)).toBe(false);
  });

  it('separates options of ssh from a command', () => {
    expect(splitWords(['ls', '-l'])).toEqual({ options: [], command: ['ls', '-l'] });
    expect(splitWords(['-N', '-L', '1:a:2'])).toEqual({ options: ['-N', '-L', '1:a:2'], command: [] });
    expect(splitWords(['-v', '--', 'ls'])).toEqual({ options: ['-v'], command: ['ls'] });
    expect(splitWords(['--', 'ls', '--'])).toEqual({ options: [], command: ['ls', '--'] });
    expect(splitWords([])).toEqual({ options: [], command: [] });
  });
});
