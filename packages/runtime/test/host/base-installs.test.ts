import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { linuxBench } from '../support/linux-bench.js';
import { linuxSkipReason } from '../support/linux-host.js';

const ranges = process.env.SVC_TEST_MIRROR_RANGES?.split(',').filter((each) => each !== '');
const skip =
  linuxSkipReason() ??
  (ranges === undefined
    ? 'SVC_TEST_MIRROR_RANGES is not set: ranges of the mirrors, where they are private'
    : undefined);
const registry = () =>
  execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8', cwd: '/' }).trim();

/** The authorities that this machine's npm trusts beside the usual ones. */
const authorities = process.env.NODE_EXTRA_CA_CERTS ?? process.env.npm_config_cafile;
const trust = authorities === undefined ? '' : 'export NODE_EXTRA_CA_CERTS=/authorities; ';
const mounts =
  authorities === undefined ? [] : [{ source: authorities, target: '/authorities', readOnly: true }];

/** The first steps of agents. They need mirrors of Debian and of npm that this machine reaches. */
describe.skipIf(skip !== undefined)('a fresh sandbox of base', () => {
  const bench = linuxBench({ baseRoot: 'debian', network: { allowRanges: ranges ?? [] } });

  async function show(script: string): Promise<string> {
    const { client } = await bench.create({ mounts, limits: { memoryMiB: 2048, cpuCount: 2, pids: 2048 } });
    const { stdout, stderr, exitCode } = await client.run(`exec 2>&1; ${script}`);
    console.log(`$ ${script}\n${stdout}`);
    expect(exitCode, stdout + stderr).toBe(0);
    return stdout;
  }

  it('installs a package of Debian with sudo', async () => {
    const said = await show(
      `sudo apt-get -o Acquire::Check-Valid-Until=false update -qq && sudo apt-get install -qqy cowsay >/dev/null && /usr/games/cowsay installed`,
    );
    expect(said).toContain('< installed >');
  }, 240_000);

  it('takes a screenshot with a browser of Debian, which does without a sandbox of its own', async () => {
    const said = await show(
      `sudo apt-get -o Acquire::Check-Valid-Until=false update -qq && sudo apt-get install -qqy --no-install-recommends chromium >/dev/null && chromium --headless --no-sandbox --disable-gpu --screenshot=page.png 'data:text/html,<h1>seen</h1>' 2>/dev/null; file=$(head -c 4 page.png | tail -c 3); echo "$file $(stat -c %s page.png)"`,
    );
    expect(said).toMatch(/^PNG \d{3,}$/m);
  }, 300_000);

  it('installs a package of npm', async () => {
    const said = await show(
      `${trust}npm config set registry ${registry()} && npm install --no-audit --no-fund is-odd && node -p 'require("is-odd")(3)'`,
    );
    expect(said.trim()).toMatch(/true$/);
  }, 240_000);

  it('installs with pip from an index, and clones over HTTP', async () => {
    const said =
      await show(`set -e; mkdir -p src index/greet; cd src; echo 'def hello(): return "hello from pip"' > greet.py
python3 - <<'END'
import zipfile
with zipfile.ZipFile("../index/greet/greet-1.0-py3-none-any.whl", "w") as wheel:
    wheel.write("greet.py")
    wheel.writestr("greet-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: greet\\nVersion: 1.0\\n")
    wheel.writestr("greet-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: hand\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("greet-1.0.dist-info/RECORD", "")
END
cd; git init -q --bare index/code.git; git init -q work; cd work; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
git push -q ../index/code.git HEAD:refs/heads/main; cd ../index/code.git; git symbolic-ref HEAD refs/heads/main; git update-server-info; cd ../..
python3 -m http.server 8000 --bind 127.0.0.1 --directory index >/dev/null 2>&1 &
until curl -s http://127.0.0.1:8000/ >/dev/null; do :; done
pip install -q --index-url http://127.0.0.1:8000/ greet && python3 -c 'import greet; print(greet.hello())'
git clone -q http://127.0.0.1:8000/code.git cloned && git -C cloned log --format=%s`);
    expect(said).toContain('hello from pip');
    expect(said).toContain('first');
  }, 120_000);
});
