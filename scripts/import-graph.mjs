// Which file of a package imports which, the circles in that, and a picture of it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { repository } from './generate/run.mjs';

/** The modules that a text imports, in every form of import, types included. */
export function importsOf(text) {
  const { importedFiles } = ts.preProcessFile(text, true, true);
  return importedFiles.map((file) => file.fileName);
}

/** The files of a package's src, by path below it, each with the modules it imports. */
export function readSources(packageName) {
  const source = join(repository, 'packages', packageName, 'src');
  const paths = existsSync(source) ? readdirSync(source, { recursive: true }) : [];
  return new Map(
    paths
      .filter((path) => /\.(ts|tsx|mts|js|mjs)$/.test(path))
      .map((path) => [path, importsOf(readFileSync(join(source, path), 'utf8'))]),
  );
}

/** Leaves of each file's imports those that are files of the same package, as paths below src. */
export function ownImports(packageName, sources) {
  const manifest = JSON.parse(
    readFileSync(join(repository, 'packages', packageName, 'package.json'), 'utf8'),
  );
  const targetsOf = (file, specifier) => {
    if (specifier.startsWith('.')) return [join(dirname(file), specifier)];
    if (!specifier.startsWith('#')) return [];
    return (
      JSON.stringify(manifest.imports?.[specifier] ?? {}).match(/(?<="@svc\/source":"\.\/src\/)[^"]+/g) ?? []
    );
  };
  const existing = (path) =>
    [path, path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx')].find((each) => sources.has(each));
  return new Map(
    [...sources].map(([file, specifiers]) => [
      file,
      specifiers.flatMap((specifier) => targetsOf(file, specifier)).flatMap((path) => existing(path) ?? []),
    ]),
  );
}

/**
 * The circles among what lies side by side in a folder, files and sub-folders alike: `{ folder, members, because }`, where
 * `because` holds the imports of files behind each arrow. A circle of files is one of these too, in the folder that holds them all.
 * @param imports file to the files it imports
 */
export function circlesOf(imports) {
  const folders = new Set(['']);
  for (const file of imports.keys())
    for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) folders.add(`${folder}/`);
  return [...folders].sort().flatMap((folder) => {
    const arrows = arrowsIn(folder, imports);
    return stronglyConnected(arrows).map((members) => ({
      folder,
      members: members.sort(),
      because: members.flatMap((from) =>
        [...arrows.get(from)]
          .filter(([to]) => members.includes(to))
          .map(([to, examples]) => ({ from, to, examples })),
      ),
    }));
  });
}

/** Member of the folder to the members it imports, each with the imports of files that make it so. */
function arrowsIn(folder, imports) {
  const memberOf = (file) => (file.startsWith(folder) ? file.slice(folder.length).split('/')[0] : undefined);
  const arrows = new Map();
  for (const [file, targets] of imports) {
    const from = memberOf(file);
    if (from === undefined) continue;
    if (!arrows.has(from)) arrows.set(from, new Map());
    for (const target of targets) {
      const to = memberOf(target);
      if (to === undefined || to === from) continue;
      arrows.get(from).set(to, [...(arrows.get(from).get(to) ?? []), `${file} -> ${target}`]);
    }
  }
  return arrows;
}

/** Groups of two or more that reach each other (Tarjan). */
function stronglyConnected(arrows) {
  const seen = new Map();
  const stack = [];
  const groups = [];
  const visit = (node) => {
    let lowest = seen.size;
    const own = lowest;
    seen.set(node, own);
    stack.push(node);
    for (const next of arrows.get(node)?.keys() ?? []) {
      if (!seen.has(next)) lowest = Math.min(lowest, visit(next));
      else if (stack.includes(next)) lowest = Math.min(lowest, seen.get(next));
    }
    if (lowest === own) {
      const group = stack.splice(stack.indexOf(node));
      if (group.length > 1) groups.push(group);
    }
    return lowest;
  };
  for (const node of arrows.keys()) if (!seen.has(node)) visit(node);
  return groups;
}

/** The graph as a Mermaid flowchart: a box for each package, in it the members of its src, arrows for imports. */
export function toMermaid(packages) {
  const lines = ['flowchart LR'];
  for (const { name, imports } of packages) {
    const arrows = arrowsIn('', imports);
    const id = (member) => `${name}_${member.replace(/\W/g, '_')}`;
    lines.push(`  subgraph ${name}`);
    for (const member of arrows.keys()) lines.push(`    ${id(member)}["${member}"]`);
    lines.push('  end');
    for (const [from, targets] of arrows)
      for (const to of targets.keys()) lines.push(`  ${id(from)} --> ${id(to)}`);
  }
  for (const { name, siblings } of packages) for (const to of siblings) lines.push(`  ${name} ==> ${to}`);
  return lines.join('\n');
}
