#!/usr/bin/env node
// Runs what the gate checks besides types, lint and tests: the specifications, the files generated from them, the imports, comments, shell
// scripts, Go, the links of the documentation, the tiers of tests.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { repository } from './generate/run.mjs';

let failed = false;
for (const script of [
  'check-specs.mjs',
  'check-generated.mjs',
  'check-imports.mjs',
  'check-comments.mjs',
  'check-shell.mjs',
  'check-go.mjs',
  'check-docs.mjs',
  'test-tiers.mjs',
]) {
  const { status } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(repository, 'scripts', script)],
    { stdio: 'inherit' },
  );
  failed ||= status !== 0;
}
process.exitCode = failed ? 1 : 0;
