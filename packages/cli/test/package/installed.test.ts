import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { publishablePackages } from '../../../../scripts/publishable.mjs';
import { cleanEnvironment } from '../support/run-cli.js';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../../../../', import.meta.url));
const published = publishablePackages().sort();
const isBuilt = published.every((name) => existsSync(join(repository, 'packages', name, 'dist')));
if (!isBuilt) console.warn('installed packages: skipped: run npm run build first');

/** npm installs what the packages depend on from its registry: without one there is nothing to test. */
const hasRegistry =
  isBuilt &&
  (await run('npm', ['ping'], { timeout: 30_000 }).then(
    () => true,
    () => false,
  ));
if (isBuilt && !hasRegistry) console.warn('installed packages: skipped: npm reaches no registry');

const hasDpkg = await run('dpkg-deb', ['--version']).then(
  () => true,
  () => false,
);

describe.skipIf(!isBuilt || !hasRegistry)(
  'what a release holds, installed on a machine without the repository',
  () => {
    let home: string;
    let release: string;
    let project: string;
    let env: Record<string, string>;
    const svc = (...args: string[]) =>
      run(join(project, 'node_modules/.bin/svc'), args, { cwd: project, env, timeout: 120_000 });

    beforeAll(async () => {
      home = await mkdtemp(join(tmpdir(), 'svc-installed-'));
      // As /opt is: the user svc reads the program there.
      await chmod(home, 0o755);
      release = join(home, 'release');
      project = join(home, 'project');
      env = cleanEnvironment({ HOME: home });
      execFileSync(process.execPath, [
        join(repository, 'scripts/release.mjs'),
        release,
        '--no-build',
        '--untested',
      ]);
      await mkdir(project);
      await writeFile(join(project, 'package.json'), '{ "private": true }\n');
      const tarballs = (await readdir(release)).filter((file) => file.endsWith('.tgz'));
      await run(
        'npm',
        [
          'install',
          '--no-audit',
          '--no-fund',
          '--prefer-offline',
          ...tarballs.map((file) => join(release, file)),
        ],
        // Its own home would be an empty cache.
        { cwd: project, env: cleanEnvironment(), timeout: 300_000 },
      );
    }, 400_000);
    afterAll(async () => {
      if (home) await rm(home, { recursive: true, force: true });
    });

    it('comes from the tarballs alone: no link into the repository, no source, nothing half published', async () => {
      const installed = await readdir(join(project, 'node_modules/@svc'));
      expect(installed.sort()).toEqual(published);
      for (const name of installed) {
        const directory = join(project, 'node_modules/@svc', name);
        expect((await lstat(directory)).isSymbolicLink(), name).toBe(false);
        const files = await readdir(directory);
        expect(files, name).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'dist', 'package.json']));
        expect(files, name).not.toContain('src');
      }
    });

    it('has sound manifests, and types for every way of importing it', async () => {
      const { stdout } = await run(process.execPath, [join(repository, 'scripts/check-packages.mjs')]);
      expect(stdout.match(/, clean$/gm)).toHaveLength(published.length);
    });

    it('brings the daemon for both processors that Linux servers have, with checksums', async () => {
      const dist = join(project, 'node_modules/@svc/envd/dist');
      const sums = await readFile(join(dist, 'SHA256SUMS'), 'utf8');
      const machines = { x64: 0x3e, arm64: 0xb7 };
      for (const [processor, machine] of Object.entries(machines)) {
        const name = `envd-linux-${processor}`;
        const program = await readFile(join(dist, name));
        expect(program.readUInt16LE(18), name).toBe(machine);
        expect(sums).toContain(`${createHash('sha256').update(program).digest('hex')}  ${name}\n`);
      }
    });

    it('lists what it brings in a software bill of materials, and has checksums of everything', async () => {
      const bill = JSON.parse(await readFile(join(release, 'sbom.cdx.json'), 'utf8'));
      expect(bill).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'svc' } } });
      const listed = new Set(bill.components.map(({ purl }: { purl: string }) => purl));
      const lock = JSON.parse(await readFile(join(project, 'node_modules/.package-lock.json'), 'utf8'));
      const names = Object.keys(lock.packages).map((path) => path.replace(/^.*node_modules\//, ''));
      expect(names.length).toBeGreaterThan(50);
      const named = [...listed].map((purl) =>
        decodeURIComponent(String(purl)).replace(/^pkg:npm\/(.*)@.*$/, '$1'),
      );
      expect(named).toEqual(expect.arrayContaining(names));
      // Built into the files, so npm does not know them.
      expect(named).toEqual(expect.arrayContaining(['@connectrpc/connect-node']));
      expect([...listed].join('\n')).toContain('pkg:golang/connectrpc.com/connect@');

      const sums = (await readFile(join(release, 'SHA256SUMS'), 'utf8')).trim().split('\n');
      expect(sums).toHaveLength(published.length + 1);
      for (const line of sums) {
        const [sum, file] = line.split('  ');
        const content = await readFile(join(release, String(file)));
        expect(createHash('sha256').update(content).digest('hex'), file).toBe(sum);
      }
    });

    it.skipIf(!hasDpkg)("makes a Debian package that is root's alone and runs by itself", async () => {
      const output = join(home, 'deb');
      const script = join(repository, 'scripts/deb.mjs');
      const modules = join(project, 'node_modules');
      const options = ['--release', release, '--modules', modules, '--compression', 'none'];
      const file = (await run(process.execPath, [script, output, ...options])).stdout.trim();
      const field = async (name: string) => (await run('dpkg-deb', ['--field', file, name])).stdout.trim();
      expect(await field('Package')).toBe('svc');
      expect(await field('Version')).toMatch(/^\d+\.\d+\.\d+$/);
      expect(Number(await field('Installed-Size'))).toBeGreaterThan(50_000);
      const { stdout: listing } = await run('dpkg-deb', ['--contents', file], { maxBuffer: 2 ** 26 });
      const strange = listing
        .trim()
        .split('\n')
        .filter(
          (line) =>
            !/^([d-]([r-][w-][x-]){3}|l.{9}) root\/root /.test(line) || /^[d-](.{4}w|.{7}w)/.test(line),
        );
      expect(strange).toEqual([]);

      const root = join(home, 'root');
      await run('dpkg-deb', ['--raw-extract', file, root]);
      await run('md5sum', ['--check', '--quiet', 'DEBIAN/md5sums'], { cwd: root, maxBuffer: 2 ** 26 });
      const settings = (await readFile(join(root, 'DEBIAN/conffiles'), 'utf8')).trim().split('\n');
      for (const path of settings) expect((await lstat(join(root, path))).mode & 0o777, path).toBe(0o600);
      for (const script of ['postinst', 'prerm', 'postrm'])
        await run('sh', ['-n', join(root, 'DEBIAN', script)]);
      for (const unit of ['svc.service', 'svc-runtime.service']) {
        const text = await readFile(join(root, 'usr/lib/systemd/system', unit), 'utf8');
        const [, program] = /^ExecStart=(\S+)/m.exec(text) ?? [];
        expect((await lstat(join(root, String(program)))).mode & 0o777, unit).toBe(0o755);
      }
      // With the Node that it brings.
      const library = join(root, 'usr/lib/svc');
      const main = join(library, 'node_modules/@svc/cli/bin/svc.js');
      expect((await run(join(library, 'node'), [main, '--version'], { env })).stdout.trim()).toBe(
        await field('Version'),
      );
      await rm(root, { recursive: true });
      await rm(output, { recursive: true });
    });

    it.for(['process', 'linux'])(
      'starts the server with the %s driver, runs the quickstart program, and is driven by the command line',
      async (driver, context) => {
        env = { ...env, SVC_DATA_DIR: join(home, driver) };
        // Its exit code says whether the machine can isolate.
        if (driver === 'linux')
          await svc('server', 'doctor').catch(({ stdout }: { stdout: string }) => context.skip(stdout));
        const anyPorts = ['--port', '0', '--sandbox-port', '0', '--operator-port', 'off'];
        const flags = ['--driver', driver, '--kill-sandboxes-on-stop', ...anyPorts];
        const server: ChildProcess = spawn(
          join(project, 'node_modules/.bin/svc'),
          ['server', 'up', ...flags],
          {
            cwd: project,
            env,
            stdio: ['ignore', 'pipe', 'pipe'],
          },
        );
        let output = '';
        for (const stream of [server.stdout!, server.stderr!])
          stream.on('data', (data) => {
            output += data;
          });
        const ended = new Promise<number | null>((resolve) => server.on('exit', resolve));
        try {
          await eventually(
            'the server to start',
            () => {
              if (server.exitCode !== null) throw new Error(`the server ended: ${output}`);
              return output.includes('Ready.');
            },
            90_000,
          );
          const exports = Object.fromEntries(
            [...output.matchAll(/\b(SVC_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
          );
          expect(Object.keys(exports)).toEqual(
            expect.arrayContaining(['SVC_API_KEY', 'SVC_API_URL', 'SVC_SANDBOX_URL']),
          );

          await copyFile(join(repository, 'examples/quickstart.mjs'), join(project, 'quickstart.mjs'));
          const { stdout } = await run(process.execPath, ['quickstart.mjs'], {
            cwd: project,
            env: { ...env, ...exports },
            timeout: 120_000,
          });
          expect(stdout).toContain('"rows": 12');
          expect(stdout).toContain('resumed; sales.csv still has 13 lines');

          const id = (await svc('sandbox', 'create', '-q')).stdout.trim();
          expect((await svc('sandbox', 'exec', id, '--', 'echo', 'from inside')).stdout).toBe(
            'from inside\n',
          );
          expect((await svc('sandbox', 'list', '--json')).stdout).toContain(id);
          await svc('sandbox', 'kill', id);
        } finally {
          server.kill('SIGINT');
        }
        expect(await ended, output).toBe(0);
      },
    );
  },
);
