// Which pages the site has: guides, references, and every file of the repository that one of those links to.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { linksOf } from '../check-docs.mjs';
import { documents, sourceOf } from '../generate/documents.mjs';
import { operationsPage } from '../generate/operations-page.mjs';
import { repository } from '../generate/run.mjs';
import { asRead } from './as-read.mjs';
import { cliPage } from './cli-page.mjs';
import { errorsPage } from './error-page.mjs';
import { protoPage } from './proto-page.mjs';

/** The navigation. Guides that it does not name stand in the last group, so that a new page of `docs/` is never lost. */
const GROUPS = {
  Start: ['README.md', 'docs/getting-started.md', 'docs/testing.md'],
  Use: [
    'docs/agents.md',
    'docs/code-interpreter.md',
    'docs/sync.md',
    'docs/ssh.md',
    'docs/git.md',
    'docs/preview-links.md',
    'docs/egress.md',
    'docs/existing-clients.md',
  ],
  Errors: ['docs/errors.md', 'reference/errors.md'],
  Operate: [
    'docs/self-hosting.md',
    'docs/teams.md',
    'docs/backup.md',
    'docs/upgrading.md',
    'docs/dashboard.md',
    'docs/scaling.md',
    'docs/incus.md',
    'docs/settings.md',
    'docs/audit.md',
    'docs/security-model.md',
    'docs/opentelemetry.md',
    'docs/memory-snapshots.md',
    'docs/performance.md',
  ],
  Background: ['docs/principles.md', 'docs/architecture.md', 'docs/writing-a-driver.md'],
  Reference: [
    'reference/README.md',
    'reference/cli.md',
    'reference/platform.md',
    'reference/volumes.md',
    'reference/operator.md',
    'reference/daemon.md',
    'reference/process.md',
    'reference/filesystem.md',
    'reference/driver.md',
    'reference/egress.md',
  ],
};
const OTHERS = 'More';
const PROTOCOLS = {
  process: 'Processes of a sandbox (RPCs)',
  filesystem: 'Files of a sandbox (RPCs)',
  driver: 'Drivers (RPCs)',
  egress: 'The egress process (RPCs)',
};
/** Larger files are named, not shown. */
const MAX_SOURCE_BYTES = 256 * 1024;

/**
 * Every page, by the path of its source in the repository (`reference/` has those that are made here).
 * @param packageReference directory that `scripts/docs.mjs` wrote, or undefined for a site without it
 * @returns `pages`: path to `{ markdown, group? }`; `copies`: paths of images, copied as they are
 */
export async function collectPages(packageReference) {
  const pages = new Map();
  const tracked = trackedFiles();
  const guides = tracked.filter((path) => /^docs\/[^/]+\.md$/.test(path));
  for (const path of ['README.md', ...guides]) pages.set(path, { markdown: asRead(readText(path)) });
  for (const [path, markdown] of await references(packageReference)) pages.set(path, { markdown });

  for (const path of pages.keys()) pages.get(path).group = groupOf(path);
  const copies = new Set();
  followLinks(pages, copies, tracked);
  return { pages, copies, groups: navigation(pages) };
}

const readText = (path) => readFileSync(join(repository, path), 'utf8');

function trackedFiles() {
  const options = { cwd: repository, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 };
  return execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], options)
    .split('\0')
    .filter((path) => path !== '' && existsSync(join(repository, path)));
}

async function references(packageReference) {
  const made = new Map();
  for (const document of documents) {
    const bundle = JSON.parse(readText(`packages/${document.package}/src/gen/${document.name}.json`));
    made.set(`reference/${document.name}.md`, operationsPage(bundle, sourceOf(document)));
  }
  for (const [name, title] of Object.entries(PROTOCOLS)) {
    const path = `proto/${name}/${name}.proto`;
    made.set(`reference/${name}.md`, protoPage(title, readText(path), path));
  }
  made.set('reference/errors.md', errorsPage(readText('packages/server/src/api/errors/catalog.ts')));
  made.set('reference/cli.md', await cliPage());
  const packages = packageReference === undefined ? [] : packagePages(packageReference);
  for (const [path, markdown] of packages) made.set(path, markdown);
  const entries = packages.map(([path]) => path).filter((path) => /^reference\/\w+\/README\.md$/.test(path));
  made.set('reference/README.md', referenceIndex(made, entries));
  return made;
}

function packagePages(directory) {
  return readdirSync(directory, { recursive: true })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.includes('/') && path.endsWith('.md'))
    .map((path) => [`reference/${path}`, readFileSync(join(directory, path), 'utf8')]);
}

function referenceIndex(made, packages) {
  const line = (path) => `- [${titleOf(made.get(path))}](${relative('reference', path)})`;
  const wire = [...made.keys()].filter((path) => posix.dirname(path) === 'reference');
  const code = packages.map((path) => `- [\`@svc/${path.split('/')[1]}\`](${relative('reference', path)})`);
  const parts = ['# Reference'];
  if (code.length > 0) parts.push('What programs import:', code.join('\n'));
  parts.push('On the wire and in a terminal:', wire.map(line).join('\n'));
  return `${parts.join('\n\n')}\n`;
}

/** The text of the first heading, without Markdown. */
export function titleOf(markdown) {
  const title = /^# +(.+)$/m.exec(markdown)?.[1] ?? '';
  return title
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\\(.)/g, '$1')
    .replace(/[`*]/g, '');
}

function groupOf(path) {
  const named = Object.entries(GROUPS).find(([, paths]) => paths.includes(path))?.[0];
  return named ?? (path.startsWith('reference/') ? undefined : OTHERS);
}

function navigation(pages) {
  const others = [...pages.keys()].filter((path) => pages.get(path).group === OTHERS);
  return Object.entries({ ...GROUPS, [OTHERS]: others }).map(([name, paths]) => ({
    name,
    paths: paths.filter((path) => pages.has(path)),
  }));
}

/** Adds a page for each file and directory of the repository that a page links to, and for those that they link to. */
function followLinks(pages, copies, tracked) {
  const waiting = [...pages.keys()];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    for (const link of linksOf(pages.get(path).markdown)) {
      const target = resolveLink(path, link);
      if (target === undefined || pages.has(target) || copies.has(target)) continue;
      if (/\.(svg|png|jpe?g|gif|webp)$/.test(target)) copies.add(target);
      else {
        const markdown = sourcePage(target, tracked);
        if (markdown === undefined) throw new Error(`${path}: ${link} leads nowhere`);
        pages.set(target, { markdown });
        waiting.push(target);
      }
    }
  }
}

/** The page that a link of a page means, by the path of its source; undefined for an address elsewhere. */
export function resolveLink(path, link) {
  if (/^[a-z][a-z+.-]*:/i.test(link) || link.startsWith('#')) return undefined;
  const target = posix.join(posix.dirname(path), decodeURI(link).split('#')[0]).replace(/\/$/, '');
  if (target.endsWith('.md') || /^reference\//.test(target)) return target;
  const full = join(repository, target);
  if (!existsSync(full) || !statSync(full).isDirectory()) return target;
  return existsSync(join(full, 'README.md')) ? `${target}/README.md` : target;
}

function sourcePage(path, tracked) {
  const full = join(repository, path);
  const within = tracked.filter((each) => each.startsWith(`${path}/`));
  if (within.length > 0) {
    const list = within.map((each) => `- \`${relative(path, each)}\``).join('\n');
    return `# ${path}\n\nFiles of this directory:\n\n${list}\n`;
  }
  if (!tracked.includes(path)) return undefined;
  if (path.endsWith('.md')) return asRead(readFileSync(full, 'utf8'));
  if (statSync(full).size > MAX_SOURCE_BYTES) return `# ${path}\n\nA file of the repository.\n`;
  const text = readFileSync(full, 'utf8').trimEnd();
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `# ${path}\n\n${fence}${languageOf(path)}\n${text}\n${fence}\n`;
}

const languageOf = (path) => /\.(\w+)$/.exec(path)?.[1] ?? 'text';

/** Where a page is in the site: `docs/ssh.md` becomes `docs/ssh.html`, a README the index of its directory. */
export function addressOf(path) {
  if (posix.basename(path) === 'README.md') return posix.join(dirname(path), 'index.html');
  return path.endsWith('.md') ? path.replace(/\.md$/, '.html') : `${path}.html`;
}
