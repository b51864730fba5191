// Lists the parts of a bundle that are other people's: the text that goes beside it with their names and licenses.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** @param inputs paths of the modules in the bundle, as esbuild's metafile names them, relative to `root` */
export function thirdPartyNotices(root, inputs) {
  const packages = new Map();
  for (const input of inputs) {
    const directory = packageOf(resolve(root, input.replace(/^[\w-]+:/, '')));
    if (directory !== undefined && !packages.has(directory)) packages.set(directory, describe(directory));
  }
  const texts = [...packages.values()].sort();
  if (texts.length === 0) return undefined;
  return `Parts of these packages are built into the files beside this one.\n\n${texts.join('\n')}`;
}

/** The directory of the installed package that a module belongs to; undefined for modules of ours. */
function packageOf(path) {
  const marker = '/node_modules/';
  const at = path.lastIndexOf(marker);
  if (at === -1) return undefined;
  const words = path.slice(at + marker.length).split('/');
  return join(path.slice(0, at + marker.length), ...words.slice(0, words[0].startsWith('@') ? 2 : 1));
}

function describe(directory) {
  const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const texts = readdirSync(directory)
    .filter((file) => /^(licen[cs]e|notice)(\.|-|$)/i.test(file))
    .sort()
    .map((file) => readFileSync(join(directory, file), 'utf8').trim());
  return `==== ${name} ${version} (${license})\n\n${texts.length > 0 ? `${texts.join('\n\n')}\n` : ''}`;
}
