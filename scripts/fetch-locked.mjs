// Gets a package that package-lock.json knows but npm did not install here, because it is another platform's.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repository } from './generate/run.mjs';

/**
 * Fetches a locked package through npm (and its cache) into a temporary directory, and gives that to `use`.
 * @throws Error when the lock file does not know it, or when what came is not what the lock file says
 */
export function withLockedPackage(name, use) {
  const lock = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8'));
  const locked = lock.packages[`node_modules/${name}`];
  if (locked?.integrity === undefined) throw new Error(`package-lock.json does not know ${name}`);
  const directory = mkdtempSync(join(tmpdir(), 'svc-locked-'));
  try {
    const spec = `${name}@${locked.version}`;
    const options = ['--json', '--ignore-scripts', '--prefer-offline', '--pack-destination', directory];
    const output = execFileSync('npm', ['pack', spec, ...options], {
      cwd: directory,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [packed] = Object.values(JSON.parse(output));
    const tarball = join(directory, packed.filename.replace('@', '').replace('/', '-'));
    const [algorithm, expected] = locked.integrity.split(/-(.*)/s);
    const found = createHash(algorithm).update(readFileSync(tarball)).digest('base64');
    if (found !== expected) throw new Error(`${spec} is not what package-lock.json says (${algorithm})`);
    execFileSync('tar', ['-xzf', tarball, '-C', directory]);
    return use(join(directory, 'package'));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
