/** Reads `name=value other=value`; words without `=` are left out. */
export function parseMetadata(text: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const word of text.trim().split(/\s+/)) {
    const at = word.indexOf('=');
    if (at > 0) pairs[word.slice(0, at)] = word.slice(at + 1);
  }
  return pairs;
}
