// Everything that is generated, as a value: packages/*/src/gen, packages/envd/gen and pages of docs/. Nothing here writes into the tree.
import { join } from 'node:path';
import { deniedRangesFiles } from './denied-ranges.mjs';
import { bundleDocument, documents } from './documents.mjs';
import { openapiFiles } from './openapi.mjs';
import { protoFiles } from './proto.mjs';
import { repository } from './run.mjs';
import { settingsPage } from './settings.mjs';

/** Folders of `proto/` by the package that gets their code. */
const services = { daemon: ['process', 'filesystem'], runtime: ['driver'], egress: ['egress'] };
/** Packages that get `spec/denied-ranges.txt`. */
const deniers = ['runtime', 'network-policy'];

export const targets = ['platform', 'daemon', 'envd', 'runtime', 'network-policy', 'egress'];
export const outputOf = (target) => (target === 'envd' ? 'packages/envd/gen' : `packages/${target}/src/gen`);

/**
 * Generates one package's files: path below its folder of generated code to content.
 * `root` holds `spec/` and `proto/`; it is another folder only in tests.
 */
export async function generate(target, root = repository) {
  const files = {};
  for (const document of documents.filter((entry) => entry.package === target)) {
    Object.assign(files, await openapiFiles(document, bundleDocument(document, join(root, 'spec'))));
  }
  if (target in services) Object.assign(files, protoFiles(join(root, 'proto'), services[target]));
  if (target === 'envd')
    Object.assign(files, protoFiles(join(root, 'proto'), services.daemon, 'buf.gen.go.yaml'));
  if (deniers.includes(target)) Object.assign(files, deniedRangesFiles(join(root, 'spec')));
  return files;
}

/** The pages of docs/ that are generated: path from the root of the repository to content. */
export async function generatePages() {
  return { 'docs/settings.md': await settingsPage() };
}
