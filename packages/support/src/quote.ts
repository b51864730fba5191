/** Quotes one word for a POSIX shell. */
export function quote(word: string): string {
  return /^[A-Za-z0-9_/.:=,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
