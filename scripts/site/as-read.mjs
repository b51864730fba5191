/**
 * A page as its readers see it: without comments, and without what a fence of code says to the tests of pages behind the language.
 * Code stays as it is.
 */
export function asRead(markdown) {
  const kept = [];
  let fence;
  let comment = 'none';
  for (const line of markdown.split('\n')) {
    const [, indent, ticks, info] = /^( *)(`{3,})(.*)$/.exec(line) ?? [];
    if (fence !== undefined) {
      if (ticks !== undefined && ticks.length >= fence.length && info.trim() === '') fence = undefined;
      kept.push(line);
    } else if (comment === 'open' || line.startsWith('<!--')) {
      comment = line.includes('-->') ? 'over' : 'open';
    } else if (comment === 'over' && line === '' && kept.at(-1) === '') {
      // One empty line is enough where a comment stood between two.
    } else {
      comment = 'none';
      fence = ticks;
      kept.push(ticks === undefined ? line : indent + ticks + /^\S*/.exec(info)[0]);
    }
  }
  return kept.join('\n');
}
