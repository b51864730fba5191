import { describe, expect, it } from 'vitest';
import { fold } from '../src/flame/fold.js';
import { renderFlame } from '../src/flame/render.js';

const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 0 });
const profile = {
  startTime: 1000,
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 4] },
    { id: 2, callFrame: frame('outer', 'file:///some/where/api/<route>.js'), children: [3] },
    { id: 3, callFrame: frame('', 'node:fs') },
    { id: 4, callFrame: frame('(idle)') },
  ],
  samples: [2, 3, 4, 3, 2],
  timeDeltas: [10, 10, 10, 10, 10],
};

describe('a flame graph', () => {
  it('adds up what is sampled between two moments, without waiting', () => {
    const all = fold(profile, 0, 10_000);
    expect(all.total).toBe(30);
    const outer = all.callees.get('outer api/<route>.js');
    expect(outer?.total).toBe(30);
    expect(outer?.callees.get('(anonymous) node/fs')?.total).toBe(20);
    expect(fold(profile, 1035, 1045).total).toBe(10);
  });

  it('is an SVG that names functions and times, without paths of the machine', () => {
    const svg = renderFlame(fold(profile, 0, 10_000), { title: 'a & b', per: 10 });
    expect(svg).toContain('a &#38; b: 0.0 ms each, sampled while it was busy');
    expect(svg).toContain('<title>outer api/&#60;route&#62;.js: 0.00 ms</title>');
    expect(svg).not.toContain('some/where');
  });
});
