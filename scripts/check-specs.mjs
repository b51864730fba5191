#!/usr/bin/env node
// Checks spec/ and proto/ themselves: the linters, the rules that no linter knows, and that the protobuf services still
// understand what the committed descriptor describes (accept a wanted change with scripts/accept-proto.mjs).
import { join } from 'node:path';
import { bundleDocument, documents, operationsOf, sourceOf } from './generate/documents.mjs';
import { repository, runTool } from './generate/run.mjs';

const problems = [];
const attempt = (check) => {
  try {
    check();
  } catch (error) {
    problems.push(error.message);
  }
};

const proto = join(repository, 'proto');
attempt(() =>
  runTool('redocly', [
    'lint',
    '--config',
    'spec/redocly.yaml',
    ...documents.map((document) => document.name),
  ]),
);
attempt(() => runTool('buf', ['lint'], { cwd: proto }));
attempt(() => runTool('buf', ['breaking', '--against', 'descriptor.binpb'], { cwd: proto }));
for (const document of documents) {
  attempt(() => checkErrorResponses(document));
  attempt(() => checkComponentsUsed(document));
}

/** Every 4xx and 5xx with a JSON body names a shared record, so that clients parse one shape. */
function checkErrorResponses(document) {
  const bundle = bundleDocument(document, join(repository, 'spec'));
  const lookUp = (value) =>
    value.$ref
      ? value.$ref
          .slice(2)
          .split('/')
          .reduce((node, key) => node[key], bundle)
      : value;
  const seen = new Set();
  for (const { operation, method, path } of operationsOf(bundle)) {
    const name = `${sourceOf(document)}: ${method} ${path}`;
    if (seen.has(operation.operationId))
      problems.push(`${name}: operationId ${operation.operationId} is taken`);
    seen.add(operation.operationId);
    for (const [status, response] of Object.entries(operation.responses)) {
      if (!/^[45]/.test(status)) continue;
      const json = lookUp(response).content?.['application/json'];
      if (json && !json.schema?.$ref && !json.schema?.oneOf)
        problems.push(`${name}: ${status} has a record of its own`);
    }
  }
}

/** Every component is referred to by something. */
function checkComponentsUsed(document) {
  const bundle = bundleDocument(document, join(repository, 'spec'));
  const text = JSON.stringify(bundle);
  for (const [kind, components] of Object.entries(bundle.components ?? {})) {
    if (kind === 'securitySchemes') continue;
    for (const name of Object.keys(components))
      if (!text.includes(`"#/components/${kind}/${name}"`))
        problems.push(`${sourceOf(document)}: nothing uses the component ${kind}/${name}`);
  }
}

if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
} else {
  console.log('The specifications are sound.');
}
