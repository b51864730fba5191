/**
 * Tells options of ssh from a command: what stands before `--` are options. Without it they are what begins with a dash, and
 * a command otherwise. Pure.
 */
export function splitWords(words: readonly string[]): { options: string[]; command: string[] } {
  const dashes = words.indexOf('--');
  if (dashes !== -1) return { options: words.slice(0, dashes), command: words.slice(dashes + 1) };
  return words[0]?.startsWith('-')
    ? { options: [...words], command: [] }
    : { options: [], command: [...words] };
}
