import type { Frame } from './fold.js';

const WIDTH = 1200;
const ROW = 17;
const HEAD = 30;
/** Narrower frames are left out, as a share of all. */
const SMALLEST = 0.006;
const DEEPEST = 28;
const LETTER = 6.2;

/** An SVG of the tree: callers above, width is busy time, given per round. Pure. */
export function renderFlame(root: Frame, { title, per }: { title: string; per: number }): string {
  const parts: string[] = [];
  let rows = 0;
  const draw = (frame: Frame, x: number, depth: number): void => {
    rows = Math.max(rows, depth + 1);
    const width = (frame.total / root.total) * WIDTH;
    const ms = `${(frame.total / 1000 / per).toFixed(2)} ms`;
    const letters = Math.floor((width - 4) / LETTER);
    const text = letters < 4 ? '' : escaped(frame.name.slice(0, letters));
    const at = `x="${x.toFixed(1)}" y="${HEAD + depth * ROW}"`;
    parts.push(
      `<g><title>${escaped(frame.name)}: ${ms}</title><rect ${at} width="${width.toFixed(1)}" height="16" fill="${colour(frame.name)}"/>` +
        (text === ''
          ? '</g>'
          : `<text x="${(x + 2).toFixed(1)}" y="${HEAD + depth * ROW + 12}">${text}</text></g>`),
    );
    if (depth + 1 >= DEEPEST) return;
    let next = x;
    for (const callee of [...frame.callees.values()].sort((a, b) => b.total - a.total)) {
      if (callee.total / root.total >= SMALLEST) draw(callee, next, depth + 1);
      next += (callee.total / root.total) * WIDTH;
    }
  };
  draw(root, 0, 0);
  const height = HEAD + rows * ROW + 4;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="10">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="4" y="18" font-size="13">${escaped(title)}: ${(root.total / 1000 / per).toFixed(1)} ms each, sampled while it was busy</text>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

/** Node's own code grey, the collector red, all other code by its folder. */
function colour(name: string): string {
  if (name.startsWith('(garbage')) return '#e0897d';
  const [, place = 'node/'] = name.split(' ');
  if (/^(node|internal|process|bootstrap|streams|timers|http)\//.test(place) || place.includes('node:'))
    return '#d8d8d8';
  const folder = place.split('/')[0] ?? '';
  const hue = [...folder].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 90, 0) + 25;
  return `hsl(${hue},70%,75%)`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
