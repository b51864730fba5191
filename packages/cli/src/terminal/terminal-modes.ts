/** Modes that a program may leave switched, by number, with what sets each back. */
const restores: Record<number, { normal: 'h' | 'l'; sequence: string }> = {
  // Application cursor keys.
  1: { normal: 'l', sequence: '\u001b[?1l' },
  // The cursor is shown.
  25: { normal: 'h', sequence: '\u001b[?25h' },
  // Alternate screen, in its three forms.
  47: { normal: 'l', sequence: '\u001b[?47l' },
  1047: { normal: 'l', sequence: '\u001b[?1047l' },
  1049: { normal: 'l', sequence: '\u001b[?1049l' },
  // The mouse.
  1000: { normal: 'l', sequence: '\u001b[?1000l' },
  1002: { normal: 'l', sequence: '\u001b[?1002l' },
  1003: { normal: 'l', sequence: '\u001b[?1003l' },
  1006: { normal: 'l', sequence: '\u001b[?1006l' },
  // Focus reports.
  1004: { normal: 'l', sequence: '\u001b[?1004l' },
  // Pasted text is marked.
  2004: { normal: 'l', sequence: '\u001b[?2004l' },
};

/** Longest that a sequence is carried over from one piece to the next. */
const longestTail = 32;

/** Watches what is written to a terminal, to know which modes a program that was cut off left behind. */
export class TerminalModes {
  #tail = '';
  readonly #switched = new Set<number>();

  see(data: Uint8Array): void {
    const text = this.#tail + Buffer.from(data).toString('latin1');
    for (const [, numbers = '', state] of text.matchAll(/\u001b\[\?([\d;]+)([hl])/g)) {
      for (const number of numbers.split(';').map(Number)) {
        const mode = restores[number];
        if (mode === undefined) continue;
        if (state === mode.normal) this.#switched.delete(number);
        else this.#switched.add(number);
      }
    }
    // Seeing a sequence twice does no harm; missing one that was cut in two would.
    const cut = text.lastIndexOf('\u001b', text.length - 1);
    this.#tail = cut === -1 || /[a-zA-Z]/.test(text.slice(cut)) ? '' : text.slice(cut).slice(0, longestTail);
  }

  /** Returns the sequence that sets everything back that is not as it was; empty when all is. */
  restore(): string {
    const sequences = [...this.#switched].map((number) => restores[number]!.sequence);
    this.#switched.clear();
    return sequences.length === 0 ? '' : `${sequences.join('')}\u001b[0m`;
  }
}
