import { UsageError } from '../errors/cli-error.js';

/** A reader of whole numbers within bounds, for one option. */
export function wholeNumber(name: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new UsageError(`${name} must be a whole number from ${min} to ${max}, got "${text}".`);
  };
}

/** Reads the number of a port. */
export const portNumber = wholeNumber('The port', 1, 65_535);

/** Reads a file mode as `chmod` takes it: `640`, `0755`. Pure. */
export function fileMode(text: string): number {
  if (/^[0-7]{3,4}$/.test(text)) return Number.parseInt(text, 8);
  throw new UsageError(`"${text}" is not a file mode.`, 'Write it in octal: 640, 0755.');
}
