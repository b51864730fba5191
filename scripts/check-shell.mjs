#!/usr/bin/env node
// Lints every shell script of the repository with shellcheck. Without the program it says so and passes.
import { execFileSync, spawnSync } from 'node:child_process';
import { repository } from './generate/run.mjs';

const listed = execFileSync('git', ['ls-files', '-z', '*.sh', '.ci/run'], {
  cwd: repository,
  encoding: 'utf8',
});
const scripts = listed.split('\0').filter(Boolean);
const { status, error } = spawnSync('shellcheck', ['-x', ...scripts], { cwd: repository, stdio: 'inherit' });
if (error !== undefined) {
  console.log('shellcheck is missing: shell scripts are not linted (apt-get install shellcheck).');
} else if (status === 0) {
  console.log(`${scripts.length} shell scripts pass shellcheck`);
} else {
  process.exitCode = 1;
}
