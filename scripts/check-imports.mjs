#!/usr/bin/env node
// Checks which package imports which, over the import statements of packages/*/src.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join, relative, sep } from 'node:path';
import ts from 'typescript';
import { repository } from './generate/run.mjs';

/** What a package may import of ours. A subpath allows that entry alone. */
const arrows = {
  platform: [],
  daemon: [],
  runtime: [],
  sdk: ['platform', 'daemon'],
  envd: ['daemon/gen'],
  server: ['platform', 'daemon', 'runtime', 'envd'],
  cli: ['sdk', 'server', 'runtime', 'platform'],
  conformance: ['sdk', 'server', 'runtime', 'platform', 'daemon', 'envd'],
  bench: ['sdk', 'server', 'runtime', 'platform', 'daemon', 'envd'],
};

/** Packages that run outside Node too, and the files of theirs that may use `node:` modules. */
const portable = {
  platform: /^$/,
  daemon: /^transport\/node/,
  sdk: /^runtime\/node/,
};

/** Folders of one package that must not import each other. */
const strangers = [{ package: 'server', folders: ['api', 'gateway'] }];

export function importsOf(text) {
  const { importedFiles } = ts.preProcessFile(text, true, true);
  return importedFiles.map((file) => file.fileName);
}

/** Why a file must not import something; undefined when it may. */
export function objectionTo(packageName, file, specifier) {
  const own = /^@svc\/([^/]+)(\/.+)?$/.exec(specifier);
  if (own) {
    const [, sibling, entry = ''] = own;
    const allowed = arrows[packageName] ?? [];
    if (allowed.includes(sibling) || allowed.includes(`${sibling}${entry}`)) return undefined;
    return `@svc/${packageName} must not import ${specifier}`;
  }
  const builtin = specifier.startsWith('node:') || builtinModules.includes(specifier);
  if (builtin && packageName in portable && !portable[packageName].test(file)) {
    return `${specifier} is Node's; @svc/${packageName} uses it only in files matching ${portable[packageName]}`;
  }
  if (!specifier.startsWith('.')) return undefined;
  const target = join(file, '..', specifier).split(sep).join('/');
  if (target.startsWith('..')) return `${specifier} leaves the package's src`;
  for (const { package: name, folders } of strangers) {
    if (name !== packageName) continue;
    const [from, to] = [file, target].map((path) => folders.find((folder) => path.startsWith(`${folder}/`)));
    if (from && to && from !== to) return `${from}/ must not import ${to}/`;
  }
  return undefined;
}

function check() {
  const problems = [];
  let count = 0;
  for (const name of readdirSync(join(repository, 'packages'))) {
    if (!existsSync(join(repository, 'packages', name, 'package.json'))) continue;
    if (!(name in arrows))
      problems.push(`packages/${name} has no line in the table of scripts/check-imports.mjs`);
    const source = join(repository, 'packages', name, 'src');
    if (!existsSync(source)) continue;
    for (const path of readdirSync(source, { recursive: true })) {
      if (!/\.(ts|tsx|mts|js|mjs)$/.test(path)) continue;
      count += 1;
      const file = join(source, path);
      for (const specifier of importsOf(readFileSync(file, 'utf8'))) {
        const objection = objectionTo(name, path.split(sep).join('/'), specifier);
        if (objection) problems.push(`${relative(repository, file)}: ${objection}`);
      }
    }
  }
  if (problems.length > 0) {
    console.error(problems.join('\n'));
    process.exitCode = 1;
  } else {
    console.log(`${count} files import what they may.`);
  }
}

if (import.meta.filename === process.argv[1]) check();
