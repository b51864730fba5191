/**
 * Looks for `~.` at the start of a line, the way out of a session that does not answer any more (as in ssh). `~~` there
 * types one tilde. Everything else passes unchanged.
 */
export class EscapeKeys {
  #lineStart = true;
  #tilde = false;

  /** Returns the typed bytes to send, and if the way out was asked for. */
  read(typed: Uint8Array): { data: Uint8Array; leave: boolean } {
    const out: number[] = [];
    for (const byte of typed) {
      if (this.#tilde) {
        this.#tilde = false;
        if (byte === dot) return { data: Uint8Array.from(out), leave: true };
        out.push(tilde);
        if (byte === tilde) {
          this.#lineStart = false;
          continue;
        }
      } else if (this.#lineStart && byte === tilde) {
        this.#tilde = true;
        continue;
      }
      out.push(byte);
      this.#lineStart = byte === carriageReturn || byte === lineFeed || byte === controlC;
    }
    return { data: Uint8Array.from(out), leave: false };
  }
}

const tilde = 0x7e;
const dot = 0x2e;
const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const controlC = 0x03;
