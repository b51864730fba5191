import { describe, expect, it } from 'vitest';
import { isPiped } from '../../src/output/io.js';
import { EscapeKeys } from '../../src/terminal/escape-keys.js';
import { TerminalModes } from '../../src/terminal/terminal-modes.js';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('the way out of a shell', () => {
  const typed = (...pieces: string[]) => {
    const keys = new EscapeKeys();
    let sent = '';
    for (const piece of pieces) {
      const { data, leave } = keys.read(bytes(piece));
      sent += new TextDecoder().decode(data);
      if (leave) return { sent, leave };
    }
    return { sent, leave: false };
  };

  it.each([
    [['~.'], { sent: '', leave: true }],
    [['ls\r', '~', '.'], { sent: 'ls\r', leave: true }],
    [['a~.'], { sent: 'a~.', leave: false }],
    [['~~.'], { sent: '~.', leave: false }],
    [['~/dir\r'], { sent: '~/dir\r', leave: false }],
    [['\x03', '~.'], { sent: '\x03', leave: true }],
    [['é\r~x'], { sent: 'é\r~x', leave: false }],
  ])('of %j sends and leaves as it should', (pieces, outcome) => expect(typed(...pieces)).toEqual(outcome));
});

describe('modes that a program left switched', () => {
  const after = (...pieces: string[]) => {
    const modes = new TerminalModes();
    for (const piece of pieces) modes.see(bytes(piece));
    return modes.restore();
  };

  it('are set back, sequences cut in two included', () => {
    expect(after('x\u001b[?10', '49h\u001b[?25ly')).toBe('\u001b[?1049l\u001b[?25h\u001b[0m');
    expect(after('\u001b[?1002;1006h')).toBe('\u001b[?1002l\u001b[?1006l\u001b[0m');
  });

  it('are left alone when the program set them back itself', () => {
    expect(after('\u001b[?1049h', 'text', '\u001b[?1049l\u001b[31m')).toBe('');
    expect(after('plain')).toBe('');
  });
});

describe('standard input', () => {
  it.each([
    [{ isTerminal: true, kind: 'other' }, false],
    [{ isTerminal: false, kind: 'other' }, false],
    [{ isTerminal: false, kind: 'pipe' }, true],
    [{ isTerminal: false, kind: 'file' }, true],
    [{ isTerminal: false, kind: 'socket' }, true],
  ] as const)('of %j is passed on: %s', (facts, passed) => expect(isPiped(facts)).toBe(passed));
});
