#!/usr/bin/env node
// Writes the API reference into docs/api (not committed): Markdown from the docstrings of the packages that programs
// import, and from the OpenAPI documents. Fails when a link in it leads nowhere.
//
//   node scripts/docs.mjs [DIRECTORY]
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Application, OptionDefaults } from 'typedoc';
import { bundleDocument, documents, sourceOf } from './generate/documents.mjs';
import { operationsPage } from './generate/operations-page.mjs';
import { repository } from './generate/run.mjs';

/** The entries that programs import, by package. The other packages' types are generated: their documents are the reference. */
const PACKAGES = {
  sdk: ['index.ts', 'opentelemetry.ts'],
  sync: ['index.ts'],
  testing: ['index.ts'],
  server: ['index.ts'],
  runtime: ['contract.ts', 'host.ts', 'incus.ts', 'linux.ts', 'process.ts', 'remote.ts', 'testing.ts'],
};
/** Beside those that TypeDoc knows. `@wire` names the operation that a method stands on. */
const TAGS = ['@wire'];

const directory = resolve(process.argv[2] ?? join(repository, 'docs/api'));
rmSync(directory, { recursive: true, force: true });
mkdirSync(directory, { recursive: true });

let failed = false;
for (const [name, entries] of Object.entries(PACKAGES)) {
  const root = join(repository, 'packages', name);
  const app = await Application.bootstrapWithPlugins({
    plugin: ['typedoc-plugin-markdown'],
    name: `@svc/${name}`,
    entryPoints: entries.map((entry) => join(root, 'src', entry)),
    tsconfig: join(root, 'tsconfig.json'),
    readme: 'none',
    disableSources: true,
    excludeInternal: true,
    excludePrivate: true,
    skipErrorChecking: true,
    hideBreadcrumbs: true,
    outputs: [{ name: 'markdown', path: join(directory, name) }],
    blockTags: [...OptionDefaults.blockTags, ...TAGS],
    logLevel: 'Error',
    validation: { notExported: false, invalidLink: true, invalidPath: true },
    treatValidationWarningsAsErrors: true,
  });
  const project = await app.convert();
  if (project === undefined) {
    failed = true;
    continue;
  }
  await app.generateOutputs(project);
  failed ||= app.logger.hasErrors();
}

const pages = [];
for (const document of documents) {
  const page = `${document.name}.md`;
  const bundle = bundleDocument(document, join(repository, 'spec'));
  writeFileSync(join(directory, page), operationsPage(bundle, sourceOf(document)));
  pages.push(`- [${bundle.info.title}](${page})`);
}
const packages = Object.keys(PACKAGES).map((name) => `- [\`@svc/${name}\`](${name}/README.md)`);
writeFileSync(
  join(directory, 'README.md'),
  `# API reference\n\nPackages:\n\n${packages.join('\n')}\n\nOn the wire:\n\n${pages.join('\n')}\n`,
);

const links = spawnSync(process.execPath, [join(repository, 'scripts/check-docs.mjs'), directory], {
  stdio: 'inherit',
});
failed ||= links.status !== 0;
process.exitCode = failed ? 1 : 0;
