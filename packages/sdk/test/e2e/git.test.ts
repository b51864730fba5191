import { describeOnServer, type Fixture } from '@svc/support/testing/on-server';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { GitError, type GitFailure, InvalidRequestError, type Sandbox, secret } from '../../src/index.js';

const author = { name: 'Agent Smith', email: 'agent@example.com' };

const suite = (fixture: Fixture) => {
  let sandbox: Sandbox;
  /** A directory of its own for each test, with a bare repository `remote.git` of one commit. */
  let cwd: string;
  let round = 0;
  beforeAll(async () => {
    sandbox = await fixture.client().sandboxes.create({ timeoutMs: 600_000 });
  });
  afterAll(async () => {
    await sandbox?.kill();
  });
  beforeEach(async () => {
    const made = await sandbox.commands.run(
      `mkdir -p git-${(round += 1)} && cd git-${round} && git init -q --bare -b main remote.git && git init -q -b main first && cd first && printf 'one\\ntwo\\nthree\\n' > file.txt && git add . && git -c user.name=First -c user.email=first@example.com commit -q -m 'First commit' && git push -q ../remote.git main && cd .. && rm -r first && pwd`,
    );
    cwd = made.stdout.trim();
  });

  const write = (path: string, text: string) => sandbox.files.write(`${cwd}/${path}`, text);
  const clone = async (path: string) => (await sandbox.git.clone(`${cwd}/remote.git`, { path, cwd })).path;
  const failsFor = async (work: Promise<unknown>, reason: GitFailure, text: RegExp | string = '') => {
    const error: unknown = await work.catch((thrown: unknown) => thrown);
    if (!GitError.is(error)) throw new Error(`no GitError: ${String(error)}`);
    expect([error.reason, error.code]).toEqual([reason, 'git']);
    expect(error.message).toMatch(text);
    return error;
  };

  it('clones, changes, commits and pushes', async () => {
    const { git } = sandbox;
    const { path } = await git.clone(`${cwd}/remote.git`, { cwd });
    expect(path).toBe(`${cwd}/remote`);
    const at = { cwd: path };
    expect(await git.status(at)).toMatchObject({
      branch: 'main',
      upstream: 'origin/main',
      ahead: 0,
      behind: 0,
      clean: true,
      files: [],
    });
    await git.checkout('topic/ü', { ...at, create: true });
    await write('remote/file.txt', 'one\nTWO\nthree\n');
    await write('remote/a new file\n.txt', 'new');
    expect(await git.diff(at)).toContain('-two\n+TWO\n');
    await git.add(undefined, at);
    expect((await git.status(at)).files).toEqual([
      { path: 'a new file\n.txt', from: undefined, staged: 'added', unstaged: undefined },
      { path: 'file.txt', from: undefined, staged: 'modified', unstaged: undefined },
    ]);
    const message = `It's a "subject" $HOME\n\nand a \`body\`\n# with a hash`;
    const made = await git.commit(message, { ...at, author });
    expect(made).toMatchObject({ message, author, parents: [expect.stringMatching(/^[0-9a-f]{40}$/)] });
    expect(Math.abs(made.date.getTime() - Date.now())).toBeLessThan(600_000);
    expect(await git.log(at)).toEqual([made, expect.objectContaining({ message: 'First commit' })]);
    expect(await git.log({ ...at, limit: 1, paths: ['file.txt'] })).toEqual([made]);
    expect(await git.push(at)).toEqual([{ ref: 'refs/heads/topic/ü', change: 'created' }]);
    expect(await git.push(at)).toEqual([{ ref: 'refs/heads/topic/ü', change: 'none' }]);
    expect(await git.branches(at)).toEqual([
      { name: 'main', commit: made.parents[0], current: false, upstream: 'origin/main' },
      { name: 'topic/ü', commit: made.commit, current: true, upstream: 'origin/topic/ü' },
    ]);
    expect(await git.status(at)).toMatchObject({ branch: 'topic/ü', commit: made.commit, clean: true });
  });

  it('carries a patch from one working tree to another, binary files and renames too', async () => {
    const { git } = sandbox;
    const [one, two] = [await clone('one'), await clone('two')];
    await sandbox.commands.run(
      'git mv file.txt moved.txt && head -c 3000 /dev/urandom > noise && git add noise',
      {
        cwd: one,
      },
    );
    expect((await git.status({ cwd: one })).files).toContainEqual({
      path: 'moved.txt',
      from: 'file.txt',
      staged: 'renamed',
      unstaged: undefined,
    });
    const patch = await git.diff({ cwd: one, staged: true });
    await git.apply(patch, { cwd: two, index: true });
    expect(await git.diff({ cwd: two, staged: true })).toBe(patch);
    const same = await sandbox.commands.run('cmp one/noise two/noise', { cwd, check: false });
    expect(same.exitCode).toBe(0);
    const error = await failsFor(git.apply(patch, { cwd: two }), 'patch_failed', /nothing was changed/);
    expect(error.exitCode).toBe(1);
    const none = await git.diff({ cwd: two });
    expect(none).toBe('');
  });

  it('pulls what others pushed, and names the files that both changed', async () => {
    const { git } = sandbox;
    const [one, two] = [await clone('one'), await clone('two')];
    await write('one/file.txt', 'ONE\ntwo\nthree\n');
    await git.commit('Louder', { cwd: one, all: true, author });
    await git.push({ cwd: one });
    expect(await git.pull({ cwd: two })).toMatchObject({ updated: true });
    expect(await git.pull({ cwd: two })).toMatchObject({ updated: false });
    await write('one/file.txt', 'EINS\ntwo\nthree\n');
    await git.commit('In German', { cwd: one, all: true, author });
    await git.push({ cwd: one });
    await write('two/file.txt', 'UN\ntwo\nthree\n');
    await failsFor(git.pull({ cwd: two }), 'local_changes', /commit them first/);
    await git.commit('In French', { cwd: two, all: true, author });
    await failsFor(git.push({ cwd: two }), 'rejected', /pull first/);
    const identity = { GIT_COMMITTER_NAME: 'x', GIT_COMMITTER_EMAIL: 'x@example.com' };
    await sandbox.commands.run('git config user.name x && git config user.email x@example.com', {
      cwd: two,
      envs: identity,
    });
    const error = await failsFor(git.pull({ cwd: two }), 'conflict', /both sides changed/);
    expect(error.conflicts).toEqual(['file.txt']);
    expect((await git.status({ cwd: two })).files).toEqual([
      { path: 'file.txt', from: undefined, staged: 'conflict', unstaged: 'conflict' },
    ]);
    await failsFor(git.commit('Too early', { cwd: two, author }), 'conflict');
    await write('two/file.txt', 'EINS UN\ntwo\nthree\n');
    await git.add(['file.txt'], { cwd: two });
    expect((await git.commit('Merge', { cwd: two, author })).parents).toHaveLength(2);
    expect(await git.push({ cwd: two })).toEqual([{ ref: 'refs/heads/main', change: 'updated' }]);
    expect(await git.pull({ cwd: one, rebase: true })).toMatchObject({ updated: true });
  });

  it('replaces a pushed branch only when nobody else has pushed meanwhile', async () => {
    const { git } = sandbox;
    const [one, two] = [await clone('one'), await clone('two')];
    const amend = (at: string, message: string) =>
      sandbox.commands.run(
        `git -c user.name=x -c user.email=x@example.com commit -q --amend --allow-empty -m ${message}`,
        {
          cwd: at,
        },
      );
    await amend(one, 'First-again');
    expect(await git.push({ cwd: one, force: true })).toEqual([{ ref: 'refs/heads/main', change: 'forced' }]);
    await amend(two, 'Second-again');
    await failsFor(git.push({ cwd: two, force: true }), 'rejected');
  });

  it('reports why it fails', async () => {
    const { git } = sandbox;
    const at = { cwd: await clone('one') };
    await failsFor(git.status({ cwd: '/' }), 'not_a_repository', /^git\.status: `cwd` is not in/);
    await failsFor(git.clone(`${cwd}/missing.git`, { cwd }), 'not_found');
    await failsFor(git.clone(`${cwd}/remote.git`, { cwd, path: 'one' }), 'already_exists');
    await failsFor(git.clone(`${cwd}/remote.git`, { cwd, path: 'x', branch: 'nope' }), 'not_found');
    await failsFor(git.clone('http://127.0.0.1:1/x.git', { cwd }), 'unreachable', /network settings/);
    await failsFor(git.checkout('nope', at), 'not_found');
    await failsFor(git.checkout('main', { ...at, create: true }), 'already_exists');
    await failsFor(git.add(['nope'], at), 'not_found');
    await failsFor(git.commit('Nothing', { ...at, author }), 'nothing_to_commit', /git\.add first/);
    await failsFor(git.apply('no patch', at), 'patch_failed');
    await failsFor(git.log({ ...at, ref: 'nope' }), 'not_found');
    await failsFor(git.push({ ...at, remote: 'nope' }), 'not_found');
    await sandbox.commands.run('touch .git/index.lock', at);
    await failsFor(git.add(undefined, at), 'locked');
    await sandbox.commands.run('rm .git/index.lock; git checkout -q --detach', at);
    expect(await git.status(at)).toMatchObject({ branch: undefined, clean: true });
    await failsFor(git.push(at), 'no_upstream');
    const empty = { cwd: `${cwd}/empty` };
    await sandbox.commands.run(`git init -q ${empty.cwd}`);
    expect(await git.log(empty)).toEqual([]);
    expect(await git.status(empty)).toMatchObject({ commit: undefined, clean: true });
  });

  it('takes every argument for what it is, and refuses what git would take for an option', async () => {
    const { git } = sandbox;
    const at = { cwd: await clone('one') };
    const mark = `${cwd}/pwned`;
    const refused = async (work: Promise<unknown>, text: RegExp | string) => {
      const error: unknown = await work.catch((thrown: unknown) => thrown);
      expect(InvalidRequestError.is(error), String(error)).toBe(true);
      expect(String(error)).toMatch(text);
    };
    await refused(git.clone(`--upload-pack=touch ${mark}`, { cwd }), /not an address/);
    await refused(git.checkout('--orphan=x', at), /must not begin with "-"/);
    await refused(git.push({ ...at, remote: `--receive-pack=touch ${mark}` }), /remote must be a name/);
    await refused(git.push({ ...at, branch: '--all' }), /branch must be a name/);
    await refused(git.pull({ ...at, remote: `--upload-pack=touch ${mark}` }), /remote must be a name/);
    await refused(git.diff({ ...at, from: `--output=${mark}` }), /from must be a name/);
    await refused(git.log({ ...at, ref: `--output=${mark}` }), /ref must be a name/);
    await refused(git.commit('  ', at), /message is empty/);
    await refused(git.log({ ...at, limit: -1 }), /limit must be/);
    await refused(git.clone('https://host.test/..', { cwd }), /pass `path`/);
    await refused(git.clone('https://me:secret-token@host.test/a.git', { cwd }), /create a secret/i);
    const words = `; touch ${mark}; $(touch ${mark}) \`touch ${mark}\` '`;
    await failsFor(git.checkout(words, at), 'not_found');
    await failsFor(git.add([`--pathspec-from-file=${mark}`], at), 'not_found');
    await failsFor(git.clone(`${cwd}/${words}`, { cwd, path: words }), 'not_found');
    const { stdout } = await sandbox.commands.run(`ls ${cwd}`);
    expect(stdout).not.toContain('pwned');
  });

  it('refuses credentials that would be seen, and addresses to which none can be added', async () => {
    const { git } = sandbox;
    const credential = secret('github-token');
    const token = 'ghp_0123456789';
    for (const [url, given, text] of [
      ['https://host.test/a.git', token, /what secret\(name\) gives/],
      ['https://host.test/a.git', `${credential}${token}`, /what secret\(name\) gives/],
      ['http://host.test/a.git', credential, /https:\/\//],
      ['https://host.test:8443/a.git', credential, /port 443/],
      ['git@host.test:a.git', credential, /https:\/\//],
      ['https://host.test/a.git', { username: 'a:b', password: credential }, /user name/],
    ] as const) {
      const error: unknown = await git
        .clone(url, { cwd, credential: given })
        .catch((thrown: unknown) => thrown);
      expect(InvalidRequestError.is(error), String(error)).toBe(true);
      expect(String(error)).toMatch(text);
      expect(String(error)).not.toContain(token);
    }
    // Plain processes have no network of their own, where a header could be added.
    const driver: unknown = await git
      .authorize('https://host.test', credential)
      .catch((thrown: unknown) => thrown);
    expect(InvalidRequestError.is(driver), String(driver)).toBe(true);
    expect(String(driver)).toMatch(/^InvalidRequestError: git\.authorize: .*network rule.*cannot enforce it/);
  });
};

// Git behaves the same on every driver; credentials, which do not, have a test of the server.
describeOnServer('git', suite, ['process']);
