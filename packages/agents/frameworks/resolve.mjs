import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { frameworkDirectory, frameworkOf } from './install.mjs';

/** Hook of Node's module loader: modules of a framework are found as if its own directory asked for them. */
export function resolve(specifier, context, next) {
  const name = frameworkOf(specifier);
  if (name === undefined) return next(specifier, context);
  const parentURL = pathToFileURL(join(frameworkDirectory(name), 'package.json')).href;
  return next(specifier, { ...context, parentURL });
}
