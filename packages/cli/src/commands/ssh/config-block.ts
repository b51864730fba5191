const begin = '# svc sandboxes: begin (written by `svc ssh-config --write`)';
const end = '# svc sandboxes: end';
/** Ends the block: options that stand before the first `Host` of a file hold for every host, and still do below this line. */
const everyHost = 'Match all';

/** A block of the configuration of ssh. Pure. */
export function hostBlock(pattern: string, options: readonly (readonly [string, string])[]): string {
  const lines = options.map(([name, value]) => `  ${name} ${value}`);
  return `${[begin, `Host ${pattern}`, ...lines, everyHost, end].join('\n')}\n`;
}

/**
 * Puts the block into a configuration: in the place of an older one, else first, because ssh takes the first value that it finds
 * and what stands above the first `Host` holds for all. Pure.
 */
export function putBlock(text: string, block: string): string {
  const start = text.indexOf(begin);
  const stop = text.indexOf(end, start);
  if (start !== -1 && stop !== -1) {
    const after = text.slice(stop + end.length).replace(/^\r?\n/, '');
    return `${text.slice(0, start)}${block}${after}`;
  }
  return text.trim() === '' ? block : `${block}\n${text}`;
}
