// Builds the daemon: one static program for this machine, or with --all for every one that is supported. Beside them: their
// checksums, and the licences of what is linked in.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { goEnvironment } from '../../scripts/go.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, 'dist');

/** Names of Node for what Go calls otherwise. */
const TARGETS = {
  'linux-x64': { GOOS: 'linux', GOARCH: 'amd64' },
  'linux-arm64': { GOOS: 'linux', GOARCH: 'arm64' },
  'darwin-x64': { GOOS: 'darwin', GOARCH: 'amd64' },
  'darwin-arm64': { GOOS: 'darwin', GOARCH: 'arm64' },
};

const own = `${process.platform}-${process.arch}`;
const wanted = process.argv.includes('--all') ? Object.keys(TARGETS) : [own];
if (!(own in TARGETS))
  throw new Error(`The daemon does not run on ${own}: ${Object.keys(TARGETS).join(', ')}.`);

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
for (const target of wanted) {
  // Nothing of the machine that builds gets into the program, so that two builds of one source are equal.
  go(['build', '-trimpath', '-ldflags=-s -w -buildid=', '-o', join(dist, `envd-${target}`), './cmd/envd'], {
    ...TARGETS[target],
    CGO_ENABLED: '0',
  });
}
const sums = wanted.map((target) => {
  const name = `envd-${target}`;
  return `${createHash('sha256')
    .update(readFileSync(join(dist, name)))
    .digest('hex')}  ${name}\n`;
});
writeFileSync(join(dist, 'SHA256SUMS'), sums.join(''));
writeFileSync(join(dist, 'THIRD-PARTY-LICENSES.txt'), licences());

/** Every module that is linked in, and Go's own library, with the text of its licence. */
function licences() {
  const listed = go([
    'list',
    '-deps',
    '-f',
    '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}',
    './cmd/envd',
  ]);
  const modules = [...new Set(listed.split('\n').filter((line) => line !== ''))].sort();
  const root = go(['env', 'GOROOT']).trim();
  return [`std ${go(['env', 'GOVERSION']).trim()}\t${root}`, ...modules]
    .map((line) => {
      const [name, directory] = line.split('\t');
      return `==== ${name} (a module of Go)\n\n${licenceIn(directory)}`;
    })
    .join('\n');
}

/** A module may lie below the root of its repository, where the licence is. */
function licenceIn(directory) {
  for (let each = directory; each !== dirname(each); each = dirname(each)) {
    const file =
      existsSync(each) && readdirSync(each).find((name) => /^(licen[cs]e|copying)(\.|$)/i.test(name));
    if (file) return readFileSync(join(each, file), 'utf8');
  }
  throw new Error(`No licence was found in ${directory}.`);
}

function go(args, environment = {}) {
  return execFileSync('go', args, {
    cwd: here,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...goEnvironment(), ...environment },
  });
}
