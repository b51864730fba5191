// OpenAPI documents: what there is, and each as one self-contained JSON value.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from './run.mjs';

/** Which package carries the types of which document. */
export const documents = [
  { name: 'platform', package: 'platform' },
  { name: 'volumes', package: 'platform' },
  { name: 'operator', package: 'platform' },
  { name: 'daemon', package: 'daemon' },
];

export const sourceOf = ({ name }) => `spec/${name}.yaml`;

/** Resolves every file reference of `spec/<name>.yaml` and returns the document. */
export function bundleDocument(document, specDirectory) {
  const source = join(specDirectory, `${document.name}.yaml`);
  if (!existsSync(source)) throw new Error(`${source} is missing`);
  const directory = mkdtempSync(join(tmpdir(), 'svc-bundle-'));
  try {
    const target = join(directory, 'bundle.json');
    runTool('redocly', ['bundle', source, '--output', target]);
    return JSON.parse(readFileSync(target, 'utf8'));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/** Every operation of a document, in its order. */
export function* operationsOf(bundle) {
  for (const [path, item] of Object.entries(bundle.paths ?? {})) {
    for (const method of methods) {
      if (item[method]) yield { path, method: method.toUpperCase(), operation: item[method], item };
    }
  }
}
