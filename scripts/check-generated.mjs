#!/usr/bin/env node
// Fails when packages/*/src/gen or a generated page of docs/ is not what its sources generate.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { generate, generatePages, outputOf, targets } from './generate/all.mjs';
import { repository } from './generate/run.mjs';

const differences = [];
for (const target of targets) {
  const directory = join(repository, outputOf(target));
  const expected = await generate(target);
  const present = existsSync(directory)
    ? readdirSync(directory, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    : [];
  for (const path of new Set([...present, ...Object.keys(expected)])) {
    const name = `${outputOf(target)}/${path}`;
    if (!(path in expected)) differences.push(`${name}: nothing generates it any more`);
    else if (!present.includes(path)) differences.push(`${name}: missing`);
    else if (readFileSync(join(directory, path), 'utf8') !== expected[path])
      differences.push(`${name}: differs`);
  }
}

for (const [path, content] of Object.entries(await generatePages())) {
  const file = join(repository, path);
  if (!existsSync(file)) differences.push(`${path}: missing`);
  else if (readFileSync(file, 'utf8') !== content) differences.push(`${path}: differs`);
}

if (differences.length > 0) {
  console.error(`Generated files do not match their sources:\n  ${differences.join('\n  ')}`);
  console.error('Run `npm run generate` and commit the result.');
  process.exitCode = 1;
} else {
  console.log('Generated files match their sources.');
}
