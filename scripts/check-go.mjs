#!/usr/bin/env node
// Checks the Go sources: their format, and what `go vet` finds for each system.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { repository } from './generate/run.mjs';
import { goEnvironment } from './go.mjs';

const cwd = join(repository, 'packages/envd');
const env = goEnvironment();
const unformatted = execFileSync('gofmt', ['-l', 'cmd', 'internal'], { cwd, env, encoding: 'utf8' }).trim();
if (unformatted !== '') {
  console.error(`gofmt -w has something to change in packages/envd:\n${unformatted}`);
  process.exitCode = 1;
}
for (const GOOS of ['linux', 'darwin'])
  execFileSync('go', ['vet', './...'], { cwd, env: { ...env, GOOS }, stdio: 'inherit' });
