// A throw-away project that has one of our packages installed from its tarball, for tests of what is published.
// Dependencies are linked from this repository, so nothing is downloaded.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { repository } from './generate/run.mjs';

/** Packs `packages/<name>` into `directory` and returns the path of the tarball. */
export function packTo(directory, name) {
  const source = join(repository, 'packages', name);
  if (!existsSync(join(source, 'dist')))
    throw new Error(`packages/${name} is not built: run npm run build first`);
  const output = execFileSync(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', directory],
    {
      cwd: source,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const [packed] = Object.values(JSON.parse(output));
  return { tarball: join(directory, packed.filename.replace('@', '').replace('/', '-')), ...packed };
}

/** Makes an empty project and installs the packed packages into it. */
export function createConsumer(names) {
  const directory = mkdtempSync(join(tmpdir(), 'svc-consumer-'));
  const dispose = () => rmSync(directory, { recursive: true, force: true });
  try {
    const packed = names.map((name) => install(directory, name));
    writeFileSync(join(directory, 'package.json'), '{ "private": true }\n');
    return {
      directory,
      packed,
      dispose,
      /** Writes a file of the project. */
      write(path, text) {
        mkdirSync(dirname(join(directory, path)), { recursive: true });
        writeFileSync(join(directory, path), text);
      },
      /** Runs Node in the project and returns what it printed. */
      node: (...args) => execFileSync(process.execPath, args, { cwd: directory, encoding: 'utf8' }),
      /** Tells on standard output how long importing a package takes. Returns the modules of Node that it loads. */
      loadOf(name) {
        writeFileSync(join(directory, 'empty.mjs'), '');
        writeFileSync(join(directory, 'load.mjs'), `import '${name}';`);
        const time = (file) => {
          const start = performance.now();
          execFileSync(process.execPath, [file], { cwd: directory });
          return performance.now() - start;
        };
        const best = (file) => Math.min(...Array.from({ length: 5 }, () => time(file)));
        console.log(
          `import of ${name}: ${(best('load.mjs') - best('empty.mjs')).toFixed(1)} ms over bare Node`,
        );
        return this.node('-e', `import('${name}').then(() => console.log(process.moduleLoadList.join()))`);
      },
      /** Type-checks the project's files. Throws with the compiler's messages. */
      typecheck(files, compilerOptions) {
        const tsconfig = { compilerOptions: { ...strict, ...compilerOptions }, files };
        writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(tsconfig));
        run(directory, join(repository, 'node_modules/typescript/bin/tsc'), ['-p', 'tsconfig.json']);
      },
    };
  } catch (error) {
    dispose();
    throw error;
  }
}

const strict = {
  target: 'ES2022',
  lib: ['ES2022', 'DOM', 'DOM.Iterable'],
  types: [],
  strict: true,
  noEmit: true,
  exactOptionalPropertyTypes: true,
  // Declarations of ours must hold up in projects that check the declarations they install.
  skipLibCheck: false,
};

function install(directory, name) {
  const packed = packTo(directory, name);
  const target = join(directory, 'node_modules', packed.name);
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['-xzf', packed.tarball, '-C', target, '--strip-components=1']);
  const manifest = JSON.parse(readFileSync(join(target, 'package.json'), 'utf8'));
  for (const dependency of Object.keys(manifest.dependencies ?? {})) {
    if (dependency.startsWith('@svc/')) continue;
    const link = join(directory, 'node_modules', dependency);
    if (existsSync(link)) continue;
    mkdirSync(dirname(link), { recursive: true });
    const nested = join(repository, 'packages', name, 'node_modules', dependency);
    symlinkSync(existsSync(nested) ? nested : join(repository, 'node_modules', dependency), link);
  }
  return packed;
}

function run(directory, script, args) {
  try {
    execFileSync(process.execPath, [script, ...args], { cwd: directory, encoding: 'utf8' });
  } catch (error) {
    throw new Error(`${error.stdout}${error.stderr}`);
  }
}
