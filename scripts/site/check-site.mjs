// Finds what is wrong with a built site: links and anchors that lead nowhere, pages without a title, what a screen reader would stumble
// over, and anything that another host would have to send.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** @returns one line for each problem, which begins with the page */
export function checkSite(directory) {
  const problems = [];
  const ids = new Map();
  const idsIn = (file) => {
    if (!ids.has(file)) ids.set(file, allIds(readFileSync(file, 'utf8')));
    return ids.get(file);
  };
  const files = readdirSync(directory, { recursive: true }).map((path) => join(directory, path));
  const pages = files.filter((file) => file.endsWith('.html'));
  if (pages.length === 0) problems.push('there are no pages');
  for (const file of pages) {
    const name = relative(directory, file);
    const html = readFileSync(file, 'utf8');
    for (const problem of problemsOf(html)) problems.push(`${name}: ${problem}`);
    const own = idsIn(file);
    if (new Set(own).size < own.length)
      problems.push(`${name}: the id ${own.find((id, at) => own.indexOf(id) < at)} is there twice`);
    for (const link of linksIn(html)) {
      if (/^(?:(?:https?|mailto|data):|\/\/)/i.test(link)) continue;
      const [path, anchor] = link.split('#');
      const target = path === '' ? file : resolve(dirname(file), decodeURI(path));
      if (!existsSync(target) || !statSync(target).isFile()) problems.push(`${name}: ${link} leads nowhere`);
      else if (anchor && target.endsWith('.html') && !idsIn(target).includes(decodeURIComponent(anchor)))
        problems.push(`${name}: ${link}: the page has no such anchor`);
    }
  }
  return problems;
}

const attribute = (tag, name) => new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
const tags = (html, name) => html.match(new RegExp(`<${name}(?=[\\s>])[^>]*>`, 'g')) ?? [];
const allIds = (html) => [...html.matchAll(/<[a-z][^>]*\sid="([^"]+)"/g)].map(([, id]) => decode(id));
const linksIn = (html) =>
  [...html.matchAll(/<[a-z][^>]*\s(?:href|src)="([^"]*)"/g)].map(([, link]) => decode(link));
const decode = (text) =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');

function* problemsOf(html) {
  if (!/<title>[^<]*\S[^<]*<\/title>/.test(html)) yield 'no title';
  if (!/<html lang="[a-z]+"/.test(html)) yield 'no language';
  if (tags(html, 'main').length !== 1) yield 'not one <main>';
  if (tags(html, 'h1').length !== 1) yield `${tags(html, 'h1').length} headings of the first level`;
  const levels = [...(/<main[\s\S]*<\/main>/.exec(html)?.[0] ?? '').matchAll(/<h([1-6])/g)].map(([, at]) =>
    Number(at),
  );
  for (const [at, level] of levels.entries())
    if (at > 0 && level > levels[at - 1] + 1) {
      yield `heading ${at + 1} is of level ${level}, below one of level ${levels[at - 1]}`;
      break;
    }
  for (const tag of tags(html, 'img'))
    if (attribute(tag, 'alt') === undefined) yield `no alternative text: ${tag}`;
  for (const tag of tags(html, 'input'))
    if (!html.includes(`<label for="${attribute(tag, 'id')}"`)) yield `no label: ${tag}`;
  if (/<(a|button)(\s[^>]*)?>\s*<\/\1>/.test(html)) yield 'a link or button without a name';
  for (const name of ['script', 'link', 'img', 'iframe', 'source'])
    for (const tag of tags(html, name))
      if (/^(?:https?:)?\/\//.test(attribute(tag, 'src') ?? attribute(tag, 'href') ?? ''))
        yield `another host has to send it: ${tag}`;
}
