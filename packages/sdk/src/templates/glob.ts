/** Returns true for a text that has any part of a pattern. */
export function isGlob(text: string): boolean {
  return /[*?[]/.test(text);
}

/** `*` and `?` within one part of a path, `**` across parts, `[a-z]` and `[!a-z]`. */
export function compileGlob(glob: string): (path: string) => boolean {
  const tokens = /\*\*\/|\*\*|\*|\?|\[(!?)([^\]]+)\]|[\s\S]/g;
  const pattern = glob.replace(tokens, (token, not: string | undefined, set: string | undefined) => {
    if (token === '**/') return '(?:[^/]+/)*';
    if (token === '**') return '.+';
    if (token === '*') return '[^/]*';
    if (token === '?') return '[^/]';
    if (set !== undefined) return `[${not ? '^/' : ''}${set.replace(/[\\\]^]/g, '\\$&')}]`;
    return token.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  });
  const compiled = new RegExp(`^${pattern}$`, 's');
  return (path) => compiled.test(path);
}
