import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Absolute path of a file in the package's `assets`. By the package's name, so that it is found from a bundle too. */
export function assetPath(name: string): string {
  const manifest = createRequire(import.meta.url).resolve('@svc/runtime/package.json');
  return join(dirname(manifest), 'assets', name);
}
