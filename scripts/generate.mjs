#!/usr/bin/env node
// Regenerates packages/*/src/gen and packages/envd/gen from spec/ and proto/, and pages of docs/ from the sources.
//
//   node scripts/generate.mjs [platform|daemon|envd|runtime|network-policy|egress|docs|all] [--root DIR] [--out DIR]
//
// --root: where spec/ and proto/ are; --out: where packages/ is. Both are this repository unless given.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { generate, generatePages, outputOf, targets } from './generate/all.mjs';
import { repository } from './generate/run.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { root: { type: 'string', default: repository }, out: { type: 'string', default: repository } },
});
const wanted = positionals[0] ?? 'all';
const known = [...targets, 'docs', 'all'];
if (!known.includes(wanted)) throw new Error(`Unknown target ${wanted}: ${known.join(', ')}`);

for (const target of targets.filter((each) => wanted === 'all' || wanted === each)) {
  const directory = join(values.out, outputOf(target));
  const files = await generate(target, values.root);
  mkdirSync(directory, { recursive: true });
  for (const path of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const file = join(path.parentPath, path.name);
    if (path.isFile() && !(file.slice(directory.length + 1) in files)) rmSync(file);
  }
  for (const [path, content] of Object.entries(files)) {
    const file = join(directory, path);
    mkdirSync(dirname(file), { recursive: true });
    writeIfChanged(file, content);
  }
  console.log(`${outputOf(target)}: ${Object.keys(files).length} files`);
}

if (wanted === 'all' || wanted === 'docs') {
  for (const [path, content] of Object.entries(await generatePages())) {
    mkdirSync(dirname(join(values.out, path)), { recursive: true });
    writeIfChanged(join(values.out, path), content);
    console.log(path);
  }
}

function writeIfChanged(file, content) {
  try {
    if (readFileSync(file, 'utf8') === content) return;
  } catch {
    // Not there yet.
  }
  writeFileSync(file, content);
}
