#!/usr/bin/env node
// Builds the documentation as a site into docs/site (not committed): guides, references, errors, a search that needs no server,
// llms.txt and llms-full.txt. Every page can be opened from its file. Fails when a link in it leads nowhere.
//
//   node scripts/site.mjs [DIRECTORY]
//   node scripts/site.mjs --no-packages DIRECTORY     without the reference of the packages, which takes most of the time
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { repository } from './generate/run.mjs';
import { checkSite } from './site/check-site.mjs';
import { layout } from './site/layout.mjs';
import { llmsFullTxt, llmsTxt } from './site/llms.mjs';
import { addressOf, collectPages, titleOf } from './site/pages.mjs';
import { renderPage } from './site/render.mjs';

const { values, positionals } = parseArgs({
  options: { 'no-packages': { type: 'boolean' } },
  allowPositionals: true,
});
const directory = resolve(positionals[0] ?? join(repository, 'docs/site'));

const temporary = mkdtempSync(join(tmpdir(), 'svc-site-'));
try {
  build(await collectPages(values['no-packages'] ? undefined : packageReference()));
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

function packageReference() {
  const target = join(temporary, 'api');
  const { status } = spawnSync(process.execPath, [join(repository, 'scripts/docs.mjs'), target], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('scripts/docs.mjs failed: its messages stand above.');
  return target;
}

function build({ pages, copies, groups }) {
  rmSync(directory, { recursive: true, force: true });
  cpSync(join(repository, 'scripts/site/assets'), join(directory, 'assets'), { recursive: true });
  const index = [];
  for (const [path, { markdown }] of pages) {
    const address = addressOf(path);
    const title = titleOf(markdown);
    const { html, sections } = renderPage(path, markdown, copies);
    for (const { id, level, heading, text } of sections)
      index.push([level === 1 ? address : `${address}#${id}`, title, heading, text]);
    const navigation = groups.map(({ name, paths }) => ({
      name,
      entries: paths.map((each) => ({
        title: each === 'README.md' ? 'Overview' : titleOf(pages.get(each).markdown),
        address: addressOf(each),
        current: each === path,
      })),
    }));
    const up = posix.relative(posix.dirname(address), '.');
    write(address, layout({ title, html, up: up === '' ? '' : `${up}/` }, navigation));
  }
  for (const path of copies) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    copyFileSync(join(repository, path), join(directory, path));
  }
  // `<` is escaped so that the text of a page cannot end the script.
  const json = JSON.stringify(index).replaceAll('<', '\\u003c');
  write('assets/search-index.js', `globalThis.searchIndex = ${json};\n`);
  write('llms.txt', llmsTxt(pages, groups));
  write('llms-full.txt', llmsFullTxt(pages, groups));

  const problems = checkSite(directory);
  if (problems.length > 0) {
    console.error(problems.join('\n'));
    process.exitCode = 1;
  } else {
    console.log(`${pages.size} pages, ${index.length} sections to search: ${join(directory, 'index.html')}`);
  }
}

function write(path, text) {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
