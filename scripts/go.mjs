// Finds the Go that builds the daemon.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const manifest = fileURLToPath(new URL('../packages/envd/go.mod', import.meta.url));
/** Where packages and archives of Go put it, when it is not on the PATH. */
const places = ['/usr/local/go/bin', '/usr/lib/go/bin'];
/** From this version on Go fetches a newer one by itself where a module needs it. */
const FETCHES_ITSELF = [1, 21];

/**
 * Environment in which `go` is one that can build the daemon.
 * @throws {Error} that says what to install.
 */
export function goEnvironment() {
  const environment = { ...process.env, PATH: [process.env.PATH, ...places].join(delimiter) };
  const wanted = /^go (\d+\.\d+)/m.exec(readFileSync(manifest, 'utf8'))[1];
  let found;
  try {
    found = execFileSync('go', ['env', 'GOVERSION'], {
      env: { ...environment, GOTOOLCHAIN: 'local' },
      encoding: 'utf8',
    }).trim();
  } catch {
    throw new Error(
      `Go ${wanted} or newer is needed to build the daemon of the sandboxes: apt-get install golang-go, or https://go.dev/dl.`,
    );
  }
  const version = /^go(\d+)\.(\d+)/.exec(found)?.slice(1).map(Number) ?? [0, 0];
  if (!atLeast(version, wanted.split('.').map(Number))) {
    if (!atLeast(version, FETCHES_ITSELF))
      throw new Error(
        `Go ${wanted} or newer is needed to build the daemon of the sandboxes; this is ${found}. See https://go.dev/dl.`,
      );
    environment.GOTOOLCHAIN = 'auto';
  }
  return environment;
}

function atLeast([major, minor], [wantedMajor, wantedMinor]) {
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

if (process.argv[1] === join(import.meta.dirname, 'go.mjs')) goEnvironment();
