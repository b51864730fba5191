#!/usr/bin/env node
// Checks what the repository says: relative links and anchors of every Markdown file, that the files it names exist, and
// that no text shows a command that would run a stranger's package.
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
  if (problems.length > 0) {
    console.error(problems.join('\n'));
    process.exitCode = 1;
  } else {
    console.log(`${links} links in ${pages} pages lead somewhere.`);
  }
}

if (import.meta.filename === process.argv[1]) check(process.argv[2] ? resolve(process.argv[2]) : repository);
