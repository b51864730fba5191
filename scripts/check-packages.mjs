#!/usr/bin/env node
// Packs the named packages (default: all that are published), checks their manifests, and has publint and
// are-the-types-wrong look at the tarballs. Prints sizes.
//
//   node scripts/check-packages.mjs [platform daemon sdk ...]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { repository, runTool } from './generate/run.mjs';
import { packTo } from './pack-consumer.mjs';
import { problemsOfManifest, publishablePackages } from './publishable.mjs';

const names = process.argv.length > 2 ? process.argv.slice(2) : publishablePackages();
const directory = mkdtempSync(join(tmpdir(), 'svc-packages-'));
let failed = false;
try {
  for (const name of names) {
    const manifest = JSON.parse(readFileSync(join(repository, 'packages', name, 'package.json'), 'utf8'));
    const { tarball, size, unpackedSize, files } = packTo(directory, name);
    const problems = [
      ...problemsOfManifest(
        name,
        files.map((file) => file.path),
      ),
      ...(await lint(manifest, tarball)),
      ...wrongTypes(manifest, tarball),
    ];
    failed ||= problems.length > 0;
    const sizes = `${(size / 1024).toFixed(0)} kB packed, ${(unpackedSize / 1024).toFixed(0)} kB installed`;
    console.log(`${manifest.name}: ${sizes}, ${problems.length === 0 ? 'clean' : 'problems:'}`);
    for (const problem of problems) console.error(`  ${problem}`);
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;

async function lint(manifest, tarball) {
  const content = readFileSync(tarball);
  const { messages } = await publint({
    level: 'warning',
    strict: true,
    pack: { tarball: content.buffer.slice(content.byteOffset, content.byteOffset + content.byteLength) },
  });
  return messages.map((message) => `publint: ${formatMessage(message, manifest)}`);
}

/**
 * node10 resolution knows no `exports` and is left out, and so is `require` where a package is an ECMAScript module
 * alone; JSON has no types to be wrong.
 */
function wrongTypes(manifest, tarball) {
  const entries = Object.keys(manifest.exports ?? {});
  const json = entries.filter((entry) => entry.endsWith('.json'));
  if (json.length === entries.length) return [];
  const profile = JSON.stringify(manifest.exports).includes('"require"') ? 'node16' : 'esm-only';
  try {
    runTool('attw', [tarball, '--profile', profile, '--format', 'ascii', '--exclude-entrypoints', ...json]);
    return [];
  } catch (error) {
    return [error.message];
  }
}
