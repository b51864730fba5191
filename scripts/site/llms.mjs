// The documentation for language models: a list of pages, and all guides and references in one text.
import { addressOf, titleOf } from './pages.mjs';

export function llmsTxt(pages, groups) {
  const parts = [
    `# ${titleOf(pages.get('README.md').markdown)}`,
    `> ${summaryOf(pages.get('README.md').markdown)}`,
  ];
  for (const { name, paths } of groups) {
    const lines = paths.map((path) => {
      const { markdown } = pages.get(path);
      const summary = summaryOf(markdown);
      return `- [${titleOf(markdown)}](${addressOf(path)})${summary === '' ? '' : `: ${summary}`}`;
    });
    parts.push(`## ${name}`, lines.join('\n'));
  }
  return `${parts.join('\n\n')}\n`;
}

export function llmsFullTxt(pages, groups) {
  return groups
    .flatMap(({ paths }) => paths)
    .map((path) => `<!-- ${addressOf(path)} -->\n\n${pages.get(path).markdown.trim()}\n`)
    .join('\n');
}

/** The first sentence of the first paragraph, in plain text. */
function summaryOf(markdown) {
  const paragraph = markdown
    .split(/\n{2,}/)
    .find((part) => /^[\p{L}`[*]/u.test(part) && !part.startsWith('From `'));
  const text = (paragraph ?? '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
  return /^.*?[.:](?=\s|$)/.exec(text)?.[0].replace(/:$/, '.') ?? text;
}
