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
    return withCommonResponses(JSON.parse(readFileSync(target, 'utf8')));
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

/**
 * Gives every operation the answers that it shares with others: `x-common-responses` of the document has those of all
 * operations, of those that need a credential, and of those that take a body.
 * An operation that lists a status itself keeps its own; `x-never` of an operation lists what it cannot answer.
 */
function withCommonResponses(bundle) {
  const { always = {}, withCredential = {}, withBody = {} } = bundle['x-common-responses'] ?? {};
  delete bundle['x-common-responses'];
  for (const { operation } of operationsOf(bundle)) {
    const secured = (operation.security ?? bundle.security ?? []).length > 0;
    const named = {
      ...always,
      ...(secured ? withCredential : {}),
      ...(operation.requestBody ? withBody : {}),
    };
    const never = operation['x-never'] ?? [];
    delete operation['x-never'];
    const shared = Object.entries(named).filter(([status]) => !never.includes(status));
    // Statuses look like array indexes: an object keeps them in ascending order.
    operation.responses = { ...Object.fromEntries(shared), ...operation.responses };
  }
  return bundle;
}
