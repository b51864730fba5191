// Frameworks that are too big to be installed with the workspace: tests fetch them by a lock of their own, once.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));
const cache = join(here, '../../../node_modules/.cache/svc-frameworks');

/** Which packages come with which framework. */
const FRAMEWORKS = {
  openai: /^@openai\/agents(\/|$)/,
  langchain: /^(@langchain\/|langchain(\/|$)|deepagents(\/|$))/,
  mastra: /^@mastra\//,
};

/** The framework that a module belongs to; undefined for all others. */
export function frameworkOf(specifier) {
  return Object.keys(FRAMEWORKS).find((name) => FRAMEWORKS[name].test(specifier));
}

/** Where a framework is installed; the directory may not be there. */
export function frameworkDirectory(name) {
  const hash = createHash('sha256').update(readFileSync(join(here, name, 'package-lock.json')));
  return join(cache, `${name}-${hash.digest('hex').slice(0, 12)}`);
}

/** Installs a framework unless it is there. @throws Error that says why it could not be */
export async function installFramework(name) {
  const target = frameworkDirectory(name);
  if (existsSync(target)) return target;
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(`${target}.`);
  try {
    for (const file of ['package.json', 'package-lock.json'])
      cpSync(join(here, name, file), join(draft, file));
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
    // Where the registry cannot be reached, the tests are skipped: not after minutes.
    options.push('--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=30000');
    await promisify(execFile)('npm', ['ci', ...options], { cwd: draft, timeout: 300_000 });
    renameSync(draft, target);
  } catch (error) {
    // Another run may have been faster.
    if (!existsSync(target))
      throw new Error(`${name} could not be installed: ${(error.stderr || error.message).trim()}`);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return target;
}
