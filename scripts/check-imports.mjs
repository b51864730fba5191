#!/usr/bin/env node
// Checks who imports whom in packages/*/src: packages as the table below allows, and no circle between files or folders.
//
//   node scripts/check-imports.mjs                       checks
//   node scripts/check-imports.mjs --circles [PACKAGE]   prints every circle with the imports that make it
//   node scripts/check-imports.mjs --graph [PACKAGE...]  prints the graph by folder, for Mermaid
import { existsSync, readdirSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join, sep } from 'node:path';
import { repository } from './generate/run.mjs';
import { circlesOf, ownImports, readSources, toMermaid } from './import-graph.mjs';

/** The packages of ours that a package may import. A subpath allows that entry alone. */
const arrows = {
  support: [],
  platform: [],
  daemon: ['platform/openapi-client'],
  runtime: ['daemon/dial'],
  'network-policy': [],
  egress: ['network-policy'],
  sdk: ['platform', 'daemon', 'network-policy'],
  sync: ['sdk'],
  ssh: ['sdk'],
  testing: ['sdk', 'platform', 'daemon', 'network-policy'],
  dashboard: ['sdk', 'platform'],
  envd: ['daemon/gen', 'support'],
  server: ['platform', 'daemon', 'dashboard', 'runtime', 'envd', 'network-policy', 'egress'],
  agents: ['sdk'],
  'code-interpreter': ['sdk'],
  cli: ['sdk', 'ssh', 'sync', 'server', 'runtime', 'platform', 'agents/mcp', 'code-interpreter'],
  conformance: ['sdk', 'server', 'runtime', 'platform', 'daemon', 'envd', 'egress', 'support'],
  bench: ['sdk', 'server', 'runtime', 'platform', 'daemon', 'envd', 'egress', 'support'],
};

/** Packages that run outside Node too, and the files of theirs that may use `node:` modules. */
const portable = {
  platform: /^$/,
  daemon: /^(transport\/node|dial\/)/,
  sdk: /^runtime\/node/,
  testing: /^cassette\//,
  'network-policy': /^$/,
};

/** The folders of a package by floor, the lowest first: a folder imports only from folders on floors below its own. */
const floors = {
  server: [
    ['config', 'gateway'],
    ['storage'],
    ['api', 'maintenance'],
    ['network', 'teams'],
    ['sandboxes'],
    ['cluster', 'webhooks'],
    ['operator', 'templates', 'volumes'],
    ['process'],
  ],
};

/** Folders of one package that must not import each other. */
const strangers = [{ package: 'server', folders: ['api', 'gateway'] }];

/** The folder of a file with its floor, -1 where the table has none; undefined for files beside the folders, and other packages. */
function floorOf(packageName, file) {
  if (!(packageName in floors) || !file.includes('/')) return undefined;
  const folder = file.split('/')[0];
  return { folder, floor: floors[packageName].findIndex((folders) => folders.includes(folder)) };
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
  const [here, there] = [file, target].map((path) => floorOf(packageName, path));
  if (here?.floor === -1) return `${here.folder}/ has no floor in the table of scripts/check-imports.mjs`;
  if (here && there && here.folder !== there.folder && there.floor >= here.floor)
    return `${here.folder}/ must not import ${there.folder}/, which is not on a floor below it`;
  for (const { package: name, folders } of strangers) {
    if (name !== packageName) continue;
    const [from, to] = [file, target].map((path) => folders.find((folder) => path.startsWith(`${folder}/`)));
    if (from && to && from !== to) return `${from}/ must not import ${to}/`;
  }
  return undefined;
}

const describe = (name, { folder, members, because }) =>
  [
    `packages/${name}/src/${folder}: ${members.join(', ')} import each other in a circle`,
    ...because.map(
      ({ from, to, examples }) =>
        `    ${from} -> ${to}: ${examples[0]}${examples.length > 1 ? ` and ${examples.length - 1} more` : ''}`,
    ),
  ].join('\n');

function main([mode, ...names]) {
  const packages = readdirSync(join(repository, 'packages'))
    .filter((name) => existsSync(join(repository, 'packages', name, 'package.json')))
    .filter((name) => names.length === 0 || names.includes(name))
    .map((name) => {
      const sources = readSources(name);
      const siblings = new Set(
        [...sources.values()].flat().flatMap((specifier) => /^@svc\/([^/]+)/.exec(specifier)?.[1] ?? []),
      );
      const imports = ownImports(name, sources);
      return { name, sources, siblings, imports, circles: circlesOf(imports) };
    });
  if (mode === '--graph') return console.log(toMermaid(packages));
  if (mode === '--circles')
    return console.log(
      packages.flatMap(({ name, circles }) => circles.map((each) => describe(name, each))).join('\n\n'),
    );

  const problems = [];
  for (const { name, sources, circles } of packages) {
    if (!(name in arrows))
      problems.push(`packages/${name} has no line in the table of scripts/check-imports.mjs`);
    for (const [file, specifiers] of sources)
      for (const specifier of specifiers) {
        const objection = objectionTo(name, file.split(sep).join('/'), specifier);
        if (objection) problems.push(`packages/${name}/src/${file}: ${objection}`);
      }
    problems.push(...circles.map((each) => describe(name, each)));
  }
  if (problems.length > 0) {
    console.error(problems.join('\n'));
    process.exitCode = 1;
  } else {
    const count = packages.reduce((sum, { sources }) => sum + sources.size, 0);
    console.log(`${count} files import what they may.`);
  }
}

if (import.meta.filename === process.argv[1]) main(process.argv.slice(2));
