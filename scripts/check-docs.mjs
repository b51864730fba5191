#!/usr/bin/env node
// Checks what the repository says: relative links and anchors of every Markdown file, that the files it names exist, that no text
// shows a command that would run a stranger's package, that README and guides stay short, use the field's words, and show
// the figures of the last benchmark.
//
//   node scripts/check-docs.mjs [DIRECTORY]     a directory of generated Markdown instead of the repository
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { repository } from './generate/run.mjs';

/** The anchors that a Markdown text offers, as GitHub makes them: lower case, no punctuation, numbered when repeated. */
export function anchorsOf(markdown) {
  const anchors = new Set();
  const counts = new Map();
  for (const line of withoutCode(markdown).split('\n')) {
    for (const [, id] of line.matchAll(/<a [^>]*(?:id|name)="([^"]+)"/g)) anchors.add(id);
    const title = /^ {0,3}#{1,6} +(.*?) *#*$/.exec(line)?.[1];
    if (title === undefined) continue;
    const slug = slugOf(title);
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}

/** The anchor that GitHub gives a heading, before repeated ones are numbered. */
export function slugOf(title) {
  return title
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^>]*>/g, '')
    .toLowerCase()
    .replace(/\\(?=[^\w\s])/g, '')
    .replace(/[^\p{L}\p{N}\p{M}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** The targets of a Markdown text's links and images, references included. */
export function linksOf(markdown) {
  const text = withoutCode(markdown).replace(/`[^`\n]*`/g, '``');
  const targets = [...text.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)].map(
    ([, target]) => target,
  );
  for (const [, target] of text.matchAll(/^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$/gm)) targets.push(target);
  return targets;
}

/** Paths of this repository that a Markdown text names in code, and in diagrams, where they begin in `packages/`. The API reference
 * and the site are not kept. */
export function pathsOf(markdown) {
  const named = [
    ...withoutCode(markdown).matchAll(
      /`(?!docs\/(?:api|site)\b)((?:packages|scripts|spec|proto|docs|examples)\/[\w./-]+)`/g,
    ),
  ];
  const diagrams = [...markdown.matchAll(/^```mermaid\n([\s\S]*?)^```/gm)].map(([, text]) => text);
  const drawn = [...diagrams.join('\n').matchAll(/[a-z-]+\/src\/[\w./-]+\.ts/g)];
  return [...named.map(([, path]) => path), ...drawn.map(([path]) => `packages/${path}`)];
}

/** Programs that `npx` would take from a stranger: the name of our command is not the name of our package. */
export function strangersOf(text) {
  return [
    ...text.matchAll(
      /\b(?:npx|bunx|pnpm dlx|yarn dlx|npm exec)\s+(?:-\S+\s+)*(svc(?:-server)?)(?![\w/@.-])/g,
    ),
  ].map(([command]) => command);
}

/** The first page of the repository fits on two screens. */
const README_BYTES = 9 * 1024;
/** The guides together, counted as `wc -w docs/*.md` counts, without the record of test runs. */
const GUIDES_WORDS = 27_000;

/** Returns how the README and the guides are longer than they may be, by path and text. */
export function excessOf(pages) {
  const bytes = Buffer.byteLength(pages.get('README.md') ?? '');
  const guides = [...pages].filter(
    ([path]) => /^docs\/[^/]+\.md$/.test(path) && path !== 'docs/test-runs.md',
  );
  const words = guides.reduce((sum, [, text]) => sum + text.split(/\s+/).filter(Boolean).length, 0);
  return [
    ...(bytes > README_BYTES ? [`README.md has ${bytes} bytes: at most ${README_BYTES}`] : []),
    ...(words > GUIDES_WORDS ? [`docs/*.md have ${words} words: at most ${GUIDES_WORDS}`] : []),
  ];
}

/** Returns the figures of the README that the table of the benchmark does not have: a new run changes both. */
export function staleFigures(pages) {
  const between = (path, start, end) => pages.get(path)?.split(start)[1]?.split(end)[0] ?? '';
  const measured = new Set(
    between('docs/performance.md', '<!-- bench -->', '<!-- /bench -->').match(FIGURE) ?? [],
  );
  const rows = between('README.md', '\n## Measured\n', '\n## ').match(/^\|.*\|$/gm) ?? [];
  // The first cell says what was measured, on the first line where.
  const figures = rows.slice(2).flatMap((row) => row.split('|').slice(2).join('|').match(FIGURE) ?? []);
  return figures
    .filter((figure) => !measured.has(figure))
    .map((figure) => `README.md: docs/performance.md has not measured ${figure}`);
}

const FIGURE = /\b\d+(?:\.\d+)?\b/g;

/** Words of our own, and what readers expect in their place. */
const OWN_WORDS = [
  [/\b(?:told|tells?|telling)\b/i, 'reports, notifies, logs, returns'],
  [/\b(?:goes|go|going|went) on\b/i, 'continues, resumes'],
  [/\bgone\b/i, 'deleted, unreachable, exited'],
  [/\belsewhere\b/i, 'on another host'],
  [/\b(?:whoever|whatever|whichever)\b/i, 'the caller, any'],
  [/\b(?:apart|apartness)\b/i, 'isolated'],
  [/\b(?:un)?governed\b/i, 'with a network policy'],
  [/\blets? go of\b/i, 'releases'],
  [/\b(?:mend(?:s|ed|ing)?|put right)\b/i, 'repair'],
  [/\black(?:s|ed|ing)?\b/i, 'is missing'],
  [/\b(?:standstill|stands? still|stood still)\b/i, 'frozen'],
  [/\b(?:ballast|leftovers|twins?)\b/i, 'reserve file, orphans, duplicate'],
];
/** Guides, and the pages beside them, but for those that are generated. The daemon's page is written anew with its program. */
const isProse = (name) =>
  /^(?:docs\/|packages\/[^/]+\/)?[A-Za-z-]+\.md$/.test(name) &&
  !['docs/settings.md', 'packages/envd/README.md'].includes(name);

/** Returns the words of our own in a page's prose, with their lines. Code and the targets of links are left out. */
export function ownWordsOf(markdown) {
  const prose = markdown
    .replace(/^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^\s*\2\s*$|^<!--[\s\S]*?-->$/gm, (block) =>
      block.replace(/[^\n]+/g, ''),
    )
    .replace(/`[^`\n]*`/g, '')
    .replace(/\]\([^)]*\)/g, ']');
  return prose.split('\n').flatMap((line, at) =>
    OWN_WORDS.flatMap(([pattern, instead]) => {
      const found = pattern.exec(line);
      return found === null ? [] : [`${at + 1}: "${found[0]}": say ${instead}`];
    }),
  );
}

const withoutCode = (markdown) => markdown.replace(/^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^\s*\2\s*$/gm, '');

function filesOf(directory) {
  if (directory !== repository)
    return readdirSync(directory, { recursive: true }).map((path) => join(directory, path));
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: repository,
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  });
  return listed
    .split('\0')
    .filter(Boolean)
    .map((path) => join(repository, path));
}

function check(directory) {
  const problems = [];
  const texts = new Map();
  const anchors = new Map();
  const anchorsIn = (file) => {
    if (!anchors.has(file)) anchors.set(file, anchorsOf(readFileSync(file, 'utf8')));
    return anchors.get(file);
  };
  let links = 0;
  let pages = 0;
  for (const file of filesOf(directory)) {
    if (!existsSync(file) || !statSync(file).isFile() || statSync(file).size > 4 * 2 ** 20) continue;
    const text = readFileSync(file, 'utf8');
    const name = relative(repository, file);
    for (const command of strangersOf(text))
      problems.push(`${name}: \`${command}\` runs a stranger's package`);
    if (!file.endsWith('.md')) continue;
    pages += 1;
    texts.set(name, text);
    if (directory === repository && isProse(name))
      problems.push(...ownWordsOf(text).map((problem) => `${name}:${problem}`));
    for (const path of directory === repository ? pathsOf(text) : [])
      if (!existsSync(join(repository, path))) problems.push(`${name}: there is no ${path}`);
    for (const link of linksOf(text)) {
      if (/^[a-z][a-z+.-]*:/i.test(link)) continue;
      links += 1;
      const [path, anchor] = decodeURI(link).split('#');
      const target = path === '' ? file : resolve(dirname(file), path);
      if (!existsSync(target)) problems.push(`${name}: ${link} leads nowhere`);
      else if (anchor && target.endsWith('.md') && !anchorsIn(target).has(anchor))
        problems.push(`${name}: ${link}: the page has no heading of that name`);
    }
  }
  if (directory === repository) problems.push(...excessOf(texts), ...staleFigures(texts));
  if (problems.length > 0) {
    console.error(problems.join('\n'));
    process.exitCode = 1;
  } else {
    console.log(`${links} links in ${pages} pages lead somewhere.`);
  }
}

if (import.meta.filename === process.argv[1]) check(process.argv[2] ? resolve(process.argv[2]) : repository);
