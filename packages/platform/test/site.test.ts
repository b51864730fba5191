import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asRead } from '../../../scripts/site/as-read.mjs';
import { checkSite } from '../../../scripts/site/check-site.mjs';
import { readCatalog } from '../../../scripts/site/error-page.mjs';

const repository = fileURLToPath(new URL('../../..', import.meta.url));
const isBuilt = existsSync(join(repository, 'packages/cli/dist/program/program.js'));
if (!isBuilt)
  console.warn('The documentation site is not tested: packages/cli is not built (npm run build).');

interface Found {
  address: string;
  title: string;
  heading: string;
  extract: string;
}
type Search = (query: string) => Found[];

describe.skipIf(!isBuilt)('the documentation site', () => {
  let site: string;
  let search: Search;
  const read = (path: string) => readFileSync(join(site, path), 'utf8');

  beforeAll(() => {
    site = mkdtempSync(join(tmpdir(), 'svc-site-test-'));
    execFileSync(process.execPath, [join(repository, 'scripts/site.mjs'), '--no-packages', site]);
    const context: { searchSections?: (index: unknown, query: string) => Found[]; searchIndex?: unknown } =
      {};
    for (const script of ['search.js', 'search-index.js']) runInNewContext(read(`assets/${script}`), context);
    search = (query) => [...context.searchSections!(context.searchIndex, query)];
  }, 120_000);
  afterAll(() => rmSync(site, { recursive: true, force: true }));

  it('has a page for every guide, and each is in the navigation', () => {
    const guides = readdirSync(join(repository, 'docs')).filter((name) => name.endsWith('.md'));
    expect(guides.length).toBeGreaterThan(20);
    const overview = read('index.html');
    const missing = guides.filter((name) => !overview.includes(`href="docs/${name.replace(/md$/, 'html')}"`));
    expect(missing).toEqual([]);
  });

  it('has no link that leads nowhere, no page without a title, nothing from another host', () => {
    expect(checkSite(site)).toEqual([]);
  });

  it('gives every error of the catalog an address', () => {
    const page = read('reference/errors.html');
    const source = readFileSync(join(repository, 'packages/server/src/api/errors/catalog.ts'), 'utf8');
    const names = readCatalog(source).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(60);
    expect(names).toEqual([...source.matchAll(/^ {2}(\w+): \(/gm)].map(([, name]) => name));
    expect(names.filter((name) => !page.includes(`id="${name.toLowerCase()}"`))).toEqual([]);
  });

  it('shows the help of every command, every operation and every RPC', () => {
    const cli = read('reference/cli.html');
    for (const command of ['svc sandbox create', 'svc server up', 'svc webhook listen'])
      expect(cli).toContain(`Usage: ${command} `);
    expect(read('reference/platform.html')).toContain('id="createsandboxv2"');
    expect(read('reference/process.html')).toContain('id="processstart"');
    expect(read('reference/filesystem.html')).toContain('id="message-entryinfo"');
  });

  it.each([
    ['template not found', 'reference/errors.html#templatenotfound'],
    ['SVC_EGRESS', 'docs/'],
    ['createSandboxV2', 'reference/platform.html#createsandboxv2'],
    ['svc sandbox create', 'reference/cli.html#svc-sandbox-create'],
  ])('finds %j', (query, address) => {
    const addresses = search(query).map((found) => found.address);
    expect(
      addresses.some((each) => each.startsWith(address)),
      addresses.join('\n'),
    ).toBe(true);
  });

  it('finds nothing for nothing, for what is nowhere, and for signs', () => {
    for (const query of ['', '  ', '<>', 'no-such-word-anywhere-zzzz']) expect(search(query)).toEqual([]);
  });

  it('lists pages for language models that are there, and gives them the whole text', () => {
    const list = read('llms.txt');
    expect(list).toMatch(/^# svc\n\n> Run code/);
    const links = [...list.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(30);
    expect(links.filter((link) => !existsSync(join(site, link)))).toEqual([]);
    expect(read('llms-full.txt')).toContain('# Self-hosting');
    expect(read('llms-full.txt')).not.toMatch(/^ *```.*not-run:|^<!-- (ts|sh)/m);
  });
});

it('shows a page without comments, and fences with their language alone', () => {
  const page =
    'a\n\n<!-- sh\nID=1\n-->\n\n```ts linux not-run: x\n<!-- in -->\n\n\n  x\n```\n<!-- b -->\nc <!-- d -->\n';
  expect(asRead(page)).toBe('a\n\n```ts\n<!-- in -->\n\n\n  x\n```\nc <!-- d -->\n');
});

describe('the check of the documentation site', () => {
  it.each([
    ['<a href="gone.html">x</a>', 'gone.html leads nowhere'],
    ['<a href="#gone">x</a>', '#gone: the page has no such anchor'],
    ['<p id="a"></p><p id="a"></p>', 'the id a is there twice'],
    ['<h1>Two</h1>', '2 headings of the first level'],
    ['<h4>Deep</h4>', 'heading 2 is of level 4'],
    ['<img src="data:,">', 'no alternative text'],
    ['<input id="field">', 'no label'],
    ['<a href="#main"></a>', 'a link or button without a name'],
    ['<script src="https://cdn.example/x.js"></script>', 'another host has to send it'],
    ['<link href="//cdn.example/x.css">', 'another host has to send it'],
  ])('refuses %s', (html, problem) => {
    expect(problemsWith(html)).toEqual([expect.stringContaining(problem)]);
  });

  it('accepts a sound page', () => {
    expect(
      problemsWith('<h2 id="two">Two</h2><a href="#two">x</a><a href="https://svc.example">y</a>'),
    ).toEqual([]);
  });

  function problemsWith(html: string): string[] {
    const directory = mkdtempSync(join(tmpdir(), 'svc-site-check-'));
    try {
      const page = `<html lang="en"><title>T</title><main id="main"><h1>T</h1>${html}</main></html>`;
      writeFileSync(join(directory, 'index.html'), page);
      return checkSite(directory);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }
});

it('reads of the catalog what an error says, where values go and when to try again', () => {
  const source = `const PREFIX = 'Failed: ';
export const errors = {
  plain: () => error(404, 'not here'),
  /** Said once. */
  full: (reason: string, count: number) =>
    error(503, \`\${PREFIX}\${reason.slice(0, 9)}, \${count / 60} min\${hint(reason)}\`, { errorCode: 'code_x', retryAfterSeconds: 1 }),
  made: (allow: string[]) => new ApiError({ status: 405, message: \`only \${allow.join(', ')}\` }),
} satisfies Record<string, unknown>;`;
  expect(readCatalog(source)).toMatchObject([
    { name: 'plain', status: 404, message: 'not here' },
    {
      name: 'full',
      status: 503,
      message: 'Failed: <reason>, <number> min',
      errorCode: 'code_x',
      retryAfter: '1',
      note: 'Said once.',
    },
    { name: 'made', status: 405, message: 'only <allow>' },
  ]);
});
