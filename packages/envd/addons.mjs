// Puts the native add-ons beside the daemon. npm installs those of its own platform alone, which is all that a build for
// this machine needs; what is published carries every platform's (`node addons.mjs`, before packing).
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLockedPackage } from '../../scripts/fetch-locked.mjs';

const dist = join(dirname(fileURLToPath(import.meta.url)), 'dist');
const require = createRequire(import.meta.url);

const TARGETS = ['linux-x64', 'linux-arm64'];
const ADDONS = [
  { name: 'pty', from: (target) => [`@lydell/node-pty-${target}`, 'pty.node'] },
  { name: 'xattr', from: (target) => [`@napi-rs/xattr-${target}-gnu`, `xattr.${target}-gnu.node`] },
];

/** Copies the add-ons of installed packages to `dist`; with `all`, fetches those of other platforms. */
export function copyAddons({ all = false } = {}) {
  mkdirSync(dist, { recursive: true });
  for (const { name, from } of ADDONS) {
    const found = TARGETS.filter((target) => {
      const destination = join(dist, `${name}-${target}.node`);
      if (all && existsSync(destination)) return true;
      const [packageName, file] = from(target);
      const installed = resolveFile(`${packageName}/${file}`);
      if (installed !== undefined) copyFileSync(installed, destination);
      else if (all)
        withLockedPackage(packageName, (directory) => copyFileSync(join(directory, file), destination));
      else return false;
      return true;
    });
    if (found.length === 0) console.warn(`the ${name} add-on is not installed: what needs it will not work`);
  }
}

function resolveFile(specifier) {
  try {
    const path = require.resolve(specifier);
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

if (import.meta.filename === process.argv[1]) copyAddons({ all: true });
