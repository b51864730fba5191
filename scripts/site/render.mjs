// One Markdown page as HTML: headings with the anchors that GitHub gives them, links to the pages of the site.
import { posix } from 'node:path';
import MarkdownIt from 'markdown-it';
import { slugOf } from '../check-docs.mjs';
import { addressOf, resolveLink } from './pages.mjs';

/**
 * @param path of the page's source in the repository
 * @param copies paths that are in the site as they are
 * @returns `html`, and `sections`: heading, anchor and plain text, for the search
 */
export function renderPage(path, markdown, copies) {
  const md = new MarkdownIt({ html: false });
  md.inline.ruler.before('html_inline', 'own_html', ownHtml);
  const tokens = md.parse(markdown, {});
  const sections = [];
  const counts = new Map();
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const inline = tokens[at + 1];
      const id = numbered(counts, slugOf(inline.content));
      token.attrSet('id', id);
      sections.push({ level: Number(token.tag[1]), id, heading: plain(inline), text: [] });
    } else if (token.type === 'inline' && tokens[at - 1]?.type !== 'heading_open') {
      sections.at(-1)?.text.push(plain(token));
    } else if (token.type === 'fence' || token.type === 'code_block') {
      // A block that is wider than the page scrolls: the keyboard reaches it.
      sections.at(-1)?.text.push(token.content);
    }
    for (const child of token.children ?? []) rewrite(child, path, copies);
  }
  md.renderer.rules.fence = (all, at) => codeBlock(md, all[at]);
  md.renderer.rules.code_block = md.renderer.rules.fence;
  md.renderer.rules.table_open = () =>
    '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>\n';
  md.renderer.rules.table_close = () => '</table></div>\n';
  md.renderer.rules.own_html = (all, at) => all[at].content;
  md.renderer.rules.th_open = () => '<th scope="col">';
  return {
    html: md.renderer.render(tokens, md.options, {}),
    sections: sections.map((each) => ({ ...each, text: each.text.join(' ').replace(/\s+/g, ' ').trim() })),
  };
}

/** The only HTML that pages may have: anchors, and line breaks in tables. All else is shown as it is written. */
function ownHtml(state, silent) {
  const found = /^(?:<a (?:id|name)="([\w.-]+)"><\/a>|<br\s*\/?>)/.exec(state.src.slice(state.pos));
  if (found === null) return false;
  if (!silent) {
    state.push('own_html', '', 0).content =
      found[1] === undefined ? '<br>' : `<span id="${found[1]}"></span>`;
  }
  state.pos += found[0].length;
  return true;
}

function rewrite(token, path, copies) {
  const name = token.type === 'link_open' ? 'href' : token.type === 'image' ? 'src' : undefined;
  const link = name && token.attrGet(name);
  const target = link && resolveLink(path, link);
  if (!target) return;
  const address = copies.has(target) ? target : addressOf(target);
  const anchor = link.includes('#') ? link.slice(link.indexOf('#')) : '';
  token.attrSet(name, encodeURI(posix.relative(posix.dirname(addressOf(path)), address)) + anchor);
}

function codeBlock(md, { info, content }) {
  const language = md.utils.escapeHtml((info ?? '').trim().split(/\s+/)[0] ?? '');
  const label = language === '' ? 'Code' : `Code, ${language}`;
  return `<pre tabindex="0" role="region" aria-label="${label}"><code>${md.utils.escapeHtml(content)}</code></pre>\n`;
}

function numbered(counts, slug) {
  const count = counts.get(slug) ?? 0;
  counts.set(slug, count + 1);
  return count === 0 ? slug : `${slug}-${count}`;
}

const plain = (inline) =>
  (inline.children ?? [])
    .map((child) =>
      child.type === 'softbreak' ? ' ' : /^(text|code_inline)$/.test(child.type) ? child.content : '',
    )
    .join('');
