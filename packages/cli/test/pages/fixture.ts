import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { OperatorClient } from '@svc/sdk/operator';
import { runTestCode } from '@svc/support/testing/child-program';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { cleanEnvironment, nodeArguments } from '../support/run-cli.js';

const repository = fileURLToPath(new URL('../../../..', import.meta.url));

export type DriverOfPages = 'process' | 'linux';

/** Why blocks that need a driver cannot run here; undefined when they can. */
export async function whyNot(driver: DriverOfPages): Promise<string | undefined> {
  if (driver === 'process') return undefined;
  if (process.getuid?.() !== 0) return 'the linux driver needs root';
  return linuxDriverCanRun(await checkHost({})) ? undefined : 'this machine cannot run the linux driver';
}

/** One server for the pages that run on a driver. Programs of different pages are of different teams, so that they do not meet. */
export class Fixture implements AsyncDisposable {
  readonly #local: LocalServer;
  #teams = 0;

  private constructor(local: LocalServer) {
    this.#local = local;
  }

  static async open(driver: DriverOfPages): Promise<Fixture> {
    return new Fixture(await startLocalServer(driver, { headerPrefixes: ['E2b-'] }));
  }

  /** Runs a program of a page (TypeScript) as its reader would: in a directory of their own, with the packages installed. */
  async runProgram(name: string, text: string): Promise<string> {
    await using reader = await this.#becomeReader();
    const file = join(reader.directory, `${name.replaceAll('/', '-')}.ts`);
    await writeFile(file, text);
    await writeFile(join(reader.directory, 'package.json'), '{ "type": "module" }');
    await symlink(join(repository, 'node_modules'), join(reader.directory, 'node_modules'));
    return await run([process.execPath, ...runTestCode, file], reader);
  }

  /** Runs a script of a page, with `svc` on the path, in a home of its own. */
  async runScript(text: string): Promise<string> {
    await using reader = await this.#becomeReader();
    const file = join(reader.env.HOME!, 'page.sh');
    await writeFile(file, text);
    return await run(['bash', file], reader);
  }

  async #becomeReader(): Promise<Reader> {
    const { operatorUrl = '', operatorToken, apiUrl, sandboxUrl } = this.#local.server;
    const operator = new OperatorClient({ operatorUrl, token: operatorToken });
    const slug = `reader-${++this.#teams}`;
    await operator.teams.create({ slug });
    const { key } = await operator.teams.keys.create(slug, 'reader');
    const home = await mkdtemp(join(tmpdir(), 'svc-page-'));
    // As homes are: the user of a server that is started in it may pass through.
    await chmod(home, 0o711);
    const directory = join(home, 'work');
    await mkdir(directory);
    const env = {
      HOME: home,
      PATH: `${await writePrograms(home)}:${process.env.PATH}`,
      SVC_API_KEY: key,
      SVC_API_URL: apiUrl,
      SVC_SANDBOX_URL: sandboxUrl,
      SVC_OPERATOR_URL: operatorUrl,
      SVC_OPERATOR_TOKEN: operatorToken,
      // Of servers that a page starts: other programs may have the usual ports.
      SVC_API_PORT: '0',
      SVC_SANDBOX_PORT: '0',
      SVC_OPERATOR_PORT: '0',
      SVC_DRIVER: 'process',
      SVC_DATA_DIR: join(home, 'data'),
      // Nothing opens a window.
      DISPLAY: '',
      WAYLAND_DISPLAY: '',
    };
    return {
      env,
      directory,
      [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#local[Symbol.asyncDispose]();
  }
}

interface Reader extends AsyncDisposable {
  env: Record<string, string>;
  directory: string;
}

/** Programs that change the machine. A page whose blocks need one says `not-run`. */
const REFUSED = ['apt', 'apt-get', 'dpkg', 'npm', 'npx', 'systemctl', 'useradd', 'userdel', 'mount', 'nft'];

/** Writes the programs on a reader's path: `svc`, and fakes of programs that look at the machine's users, or change the machine. */
async function writePrograms(home: string): Promise<string> {
  const directory = join(home, 'bin');
  await mkdir(directory);
  const quoted = (words: string[]) => words.map((word) => `'${word}'`).join(' ');
  const interrupt = fileURLToPath(new URL('./until-ctrl-c.mjs', import.meta.url));
  const refusal = 'echo "$0 would change the machine: let the fence say not-run" >&2; exit 1';
  const programs = {
    svc: `exec ${quoted([process.execPath, ...nodeArguments])} "$@"`,
    sudo: 'exec "$@"',
    ...Object.fromEntries(REFUSED.map((name) => [name, refusal])),
    ssh: '[ ! -f "$HOME/.ssh/config" ] || set -- -F "$HOME/.ssh/config" "$@"; exec /usr/bin/ssh "$@"',
    'until-ctrl-c': `exec ${quoted([process.execPath, interrupt])} "$@"`,
  };
  for (const [name, script] of Object.entries(programs))
    await writeFile(join(directory, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return directory;
}

/** Longest that a page may take: less than its test, so that its output is shown. */
const LIMIT_MS = 270_000;

/** Runs a command to its end. @returns what it printed @throws Error with all that it printed, when it failed or took too long */
async function run([file, ...args]: string[], { env, directory }: Reader): Promise<string> {
  const child = spawn(file!, args, {
    env: cleanEnvironment(env),
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, which ends as a whole when it takes too long.
    detached: true,
  });
  let stdout = '';
  let all = '';
  child.stdout.setEncoding('utf8').on('data', (data: string) => {
    stdout += data;
    all += data;
  });
  child.stderr.setEncoding('utf8').on('data', (data: string) => {
    all += data;
  });
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    process.kill(-child.pid!, 'SIGKILL');
  }, LIMIT_MS);
  const code = await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(limit);
  if (code === 0) return stdout;
  const end = isLate ? `did not end within ${LIMIT_MS / 1000} s` : `ended with ${code}`;
  throw new Error(`${end}\n${all.replaceAll('\0', '-- ')}`);
}
