import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  anchorsOf,
  excessOf,
  linksOf,
  ownWordsOf,
  pathsOf,
  staleFigures,
  strangersOf,
} from '../../../scripts/check-docs.mjs';

const script = fileURLToPath(new URL('../../../scripts/check-docs.mjs', import.meta.url));
// Put together here, so that this file does not show the command that it forbids.
const npx = 'npx';

describe('the documentation', () => {
  it('leads somewhere with every link, and never runs a stranger of the name svc', () => {
    expect(execFileSync(process.execPath, [script], { encoding: 'utf8' })).toMatch(/links in \d+ pages/);
  });

  it('is refused when a link leads nowhere, an anchor does not exist, or npx would run another package', () => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-docs-'));
    try {
      writeFileSync(join(directory, 'a.md'), `# One\n[x](b.md) [y](#two) [z](#one)\n\n    ${npx} svc up\n`);
      const { status, stderr } = spawnSync(process.execPath, [script, directory], { encoding: 'utf8' });
      expect(status).toBe(1);
      expect(stderr).toContain('b.md leads nowhere');
      expect(stderr).toContain('#two: the page has no heading of that name');
      expect(stderr).toContain("runs a stranger's package");
      expect(stderr).not.toContain('#one');
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it('names files by paths that are looked for, in text and in diagrams', () => {
    const page = 'In `scripts/a.mjs` and `not/a.path`.\n```mermaid\na["server/src/b.ts"]\n```\n';
    expect(pathsOf(page)).toEqual(['scripts/a.mjs', 'packages/server/src/b.ts']);
  });

  it.each([
    [`${npx} svc server up`, 1],
    [`${npx} -y svc`, 1],
    [`${npx} svc-server --help`, 1],
    [`${npx} @svc/cli server up`, 0],
    ['svc server up', 0],
    [`${npx} svc-anything-else`, 0],
  ])('finds the command of a stranger in %j: %i', (text, count) => {
    expect(strangersOf(text)).toHaveLength(count);
  });

  it('knows the anchors of headings', () => {
    const text = '# A `b` c!\n## A b c\n```\n# not one\n```\n### [Link](x.md) & more\n<a id="own"></a>\n';
    expect([...anchorsOf(text)]).toEqual(['a-b-c', 'a-b-c-1', 'link--more', 'own']);
  });

  it('finds links, images and references, but not in code', () => {
    const text = '[a](b.md#c) ![d](e.png "title") `[f](g)`\n```\n[h](i)\n```\n[j]: k.md\n';
    expect(linksOf(text)).toEqual(['b.md#c', 'e.png', 'k.md']);
  });

  it('stays short: README on two screens, the guides together', () => {
    const pages = (readme: number, words: number) =>
      new Map([
        ['README.md', 'x'.repeat(readme)],
        ['docs/a.md', 'one '.repeat(words)],
        ['docs/b.md', 'two\n'],
        ['docs/api/c.md', 'three '.repeat(99_999)],
      ]);
    expect(excessOf(pages(9 * 1024, 26_999))).toEqual([]);
    expect(excessOf(pages(9 * 1024 + 1, 27_000))).toEqual([
      'README.md has 9217 bytes: at most 9216',
      'docs/*.md have 27001 words: at most 27000',
    ]);
  });

  it('shows figures of the last benchmark in README', () => {
    const pages = (figure: string) =>
      new Map([
        [
          'README.md',
          `\n## Measured\n\n| On 2 cores | svc |\n|---|---|\n| 50 forks | ${figure} ms |\n\n## 7 more\n`,
        ],
        ['docs/performance.md', 'It took 9 ms.\n<!-- bench -->\n| forks | 28.2 ms |\n<!-- /bench -->\n'],
      ]);
    expect(staleFigures(pages('28.2'))).toEqual([]);
    expect(staleFigures(pages('9'))).toEqual(['README.md: docs/performance.md has not measured 9']);
  });

  it('names words of our own with their lines, and leaves code and links alone', () => {
    const page =
      'It is gone.\n```\ngone\n```\n`gone`, [a](gone.md)\n<!-- sh\ngone\n-->\nGovernedly. The host LACKS it.\n';
    expect(ownWordsOf(page)).toEqual([
      '1: "gone": say deleted, unreachable, exited',
      '9: "LACKS": say is missing',
    ]);
  });
});
