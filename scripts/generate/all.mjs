// Everything that is generated, as a value: packages/*/src/gen and pages of docs/. Nothing here writes into the tree.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleDocument, documents } from './documents.mjs';
import { openapiFiles } from './openapi.mjs';
import { protoFiles } from './proto.mjs';
import { header } from './provenance.mjs';
import { repository } from './run.mjs';
import { settingsPage } from './settings.mjs';

/** Folders of `proto/` by the package that gets their code. */
const services = { daemon: ['process', 'filesystem'], runtime: ['driver'] };

export const targets = ['platform', 'daemon', 'runtime'];
export const outputOf = (target) => `packages/${target}/src/gen`;

/**
 * Generates one package's files: path below its `src/gen` to content.
 * `root` holds `spec/` and `proto/`; it is another folder only in tests.
 */
export async function generate(target, root = repository) {
  const files = {};
  for (const document of documents.filter((entry) => entry.package === target)) {
    Object.assign(files, await openapiFiles(document, bundleDocument(document, join(root, 'spec'))));
  }
  if (target in services) Object.assign(files, protoFiles(join(root, 'proto'), services[target]));
  return Object.assign(files, target === 'runtime' ? {} : sharedFiles());
}

/** The pages of docs/ that are generated: path from the root of the repository to content. */
export async function generatePages() {
  return { 'docs/settings.md': await settingsPage() };
}

/** Source that both packages need and neither may import from the other: one original, one copy in each. */
function sharedFiles() {
  const directory = join(repository, 'scripts/templates');
  return Object.fromEntries(
    readdirSync(directory).map((name) => {
      const text = readFileSync(join(directory, name), 'utf8');
      return [name, header(`scripts/templates/${name}`, text) + text];
    }),
  );
}
