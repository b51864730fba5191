import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sandbox } from '@svc/sdk';
import { describeOnServer } from '@svc/support/testing/on-server';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type DirectorySync, type SyncEvent, type SyncOptions, syncDirectory } from '../../src/index.js';

/** The tree below a directory of this machine: text of files, targets of links. */
async function treeOf(root: string): Promise<Record<string, string>> {
  const tree: Record<string, string> = {};
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(root.length + 1);
    if (entry.isFile()) tree[name] = await readFile(path, 'utf8');
    else tree[name] = entry.isSymbolicLink() ? `-> ${await readlink(path)}` : 'dir';
  }
  return tree;
}

describeOnServer('syncDirectory', (fixture) => {
  let sandbox: Sandbox;
  let local: string;
  let remote: string;
  let count = 0;
  const running: DirectorySync[] = [];
  beforeAll(async () => {
    sandbox = await fixture.client().sandboxes.create({ timeoutMs: 600_000 });
  });
  afterAll(() => sandbox?.kill());
  beforeEach(async () => {
    local = await mkdtemp(join(tmpdir(), 'svc-sync-test-'));
    count += 1;
    remote = `synced-${count}`;
  });
  afterEach(async () => {
    for (const sync of running.splice(0)) await sync.stop();
    await rm(local, { recursive: true, force: true });
  });

  /** Runs a line in the remote directory, which is made. */
  const inRemote = async (line: string) =>
    (await sandbox.commands.run(`mkdir -p ${remote} && cd ${remote} && ${line}`)).stdout;
  const remoteTree = async () => {
    const text = await inRemote(
      `find . -mindepth 1 -printf '%y\\t%P\\t%l\\n' | sort | while IFS="$(printf '\\t')" read -r type path target; do case $type in f) printf '%s\\t%s\\n' "$path" "$(head -n 1 "./$path")";; d) printf '%s\\tdir\\n' "$path";; l) printf '%s\\t-> %s\\n' "$path" "$target";; esac; done`,
    );
    return Object.fromEntries(
      text
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split('\t')),
    );
  };
  const once = async (options: Partial<SyncOptions> = {}) => {
    const events: SyncEvent[] = [];
    await syncDirectory(sandbox, {
      local,
      remote,
      watch: false,
      onEvent: (event) => events.push(event),
      ...options,
    });
    return events;
  };
  const put = async (files: Record<string, string>) => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(local, path, '..'), { recursive: true });
      await writeFile(join(local, path), text);
    }
  };
  const stateFile = () => join(tmpdir(), `svc-sync-state-${process.pid}-${count}`);

  it('makes both sides have what either had: files, directories, links, the right to execute', async () => {
    await put({ 'here.txt': 'here', 'deep/er/file': 'x', "odd 'name' $HOME": 'odd', 'new\nline': 'n' });
    await chmod(join(local, 'here.txt'), 0o755);
    await mkdir(join(local, 'empty'));
    await symlink('deep/er', join(local, 'link'));
    await inRemote(
      'mkdir -p there/deep && printf there > there/deep/t.txt && chmod 700 there/deep/t.txt && ln -s ../there there/up && : > nothing && printf w > "wéird *?[" && printf q > -rf',
    );
    await once();
    const tree = await treeOf(local);
    expect(tree).toEqual({
      'here.txt': 'here',
      deep: 'dir',
      'deep/er': 'dir',
      'deep/er/file': 'x',
      "odd 'name' $HOME": 'odd',
      'new\nline': 'n',
      empty: 'dir',
      link: '-> deep/er',
      there: 'dir',
      'there/deep': 'dir',
      'there/deep/t.txt': 'there',
      'there/up': '-> ../there',
      nothing: '',
      'wéird *?[': 'w',
      '-rf': 'q',
    });
    await rm(join(local, 'new\nline'));
    expect(await inRemote("cat 'new\nline' && rm 'new\nline'")).toBe('n');
    delete tree['new\nline'];
    expect(await remoteTree()).toEqual(tree);
    expect((await lstat(join(local, 'there/deep/t.txt'))).mode & 0o777).toBe(0o700);
    expect(await inRemote('stat -c %a here.txt')).toBe('755\n');
  });

  it('recognises deletions by the state of the last time, and brings back without it', async () => {
    const state = stateFile();
    await put({ a: '1', b: '2', c: '3', 'd/e': '4' });
    await once({ stateFile: state });
    await rm(join(local, 'a'));
    await inRemote('rm b && rm -r d');
    await once({ stateFile: state });
    expect([Object.keys(await treeOf(local)), Object.keys(await remoteTree())]).toEqual([['c'], ['c']]);
    await rm(state);
    await inRemote('rm c; printf 5 > f');
    await once({ stateFile: state });
    expect(await treeOf(local)).toEqual({ c: '3', f: '5' });
    await rm(state);
  });

  it('keeps both versions of a file that both changed, on both sides, and reports it', async () => {
    const state = stateFile();
    await put({ 'a.txt': 'old', 'b.txt': 'old' });
    await once({ stateFile: state });
    await put({ 'a.txt': 'mine' });
    await rm(join(local, 'b.txt'));
    await inRemote('printf theirs > a.txt; printf edited > b.txt');
    const events = await once({ stateFile: state });
    const copy = expect.stringMatching(/^a\.txt\.conflict-remote-\d{8}T\d{6}Z$/);
    expect(events).toContainEqual({ type: 'conflict', path: 'a.txt', kept: 'local', copy });
    const tree = await treeOf(local);
    expect(Object.values(tree).sort()).toEqual(['edited', 'mine', 'theirs']);
    expect([tree['a.txt'], tree['b.txt']]).toEqual(['mine', 'edited']);
    expect(await remoteTree()).toEqual(tree);
    await put({ 'a.txt': 'mine again' });
    await inRemote('printf "theirs again" > a.txt');
    await once({ stateFile: state, prefer: 'remote' });
    expect((await treeOf(local))['a.txt']).toBe('theirs again');
    await rm(state);
  });

  it('leaves out what rules and .svcignore name, .git, and what `.gitignore` names when asked', async () => {
    await put({
      '.svcignore': '*.log\n',
      '.gitignore': 'out/\n',
      'sub/.gitignore': 'x.*\n!x.keep\n',
      'sub/x.tmp': '1',
      'sub/x.keep': '1',
      'a.log': '1',
      'out/o': '1',
      '.git/config': '1',
      'node_modules/m/i.js': '1',
      kept: '1',
    });
    await inRemote('mkdir -p .git node_modules/n && touch b.log .git/evil node_modules/n/j.js');
    await once({ ignore: ['node_modules'], gitignore: true });
    const there = Object.keys(await remoteTree()).filter((path) => !/^(\.git|node_modules)(\/|$)/.test(path));
    expect(there.sort()).toEqual(['.gitignore', 'b.log', 'kept', 'sub', 'sub/.gitignore', 'sub/x.keep']);
    const here = Object.keys(await treeOf(local));
    expect(here).not.toContain('b.log');
    expect(here).not.toContain('.git/evil');
    expect(here).not.toContain('node_modules/n');
    // The sandbox does not choose what is left out.
    await inRemote('printf "" > .gitignore; printf x > .svcignore');
    await once({ ignore: ['node_modules'], gitignore: true });
    expect(await treeOf(local)).toMatchObject({ '.gitignore': 'out/\n', '.svcignore': '*.log\n' });
    expect(await inRemote('cat .gitignore')).toBe('out/\n');
  });

  it('pushes and pulls one way', async () => {
    await put({ a: '1', b: '2' });
    await inRemote('printf theirs > b; printf own > c');
    await once({ mode: 'push' });
    expect(await remoteTree()).toEqual({ a: '1', b: '2', c: 'own' });
    expect(await treeOf(local)).toEqual({ a: '1', b: '2' });
    await inRemote('printf changed > a; rm b');
    await once({ mode: 'pull' });
    expect(await treeOf(local)).toEqual({ a: 'changed', b: '2', c: 'own' });
    await once({ mode: 'pull', deleteExtra: true });
    expect(await treeOf(local)).toEqual({ a: 'changed', c: 'own' });
  });

  it('stops instead of mirroring a directory that is missing or empty', async () => {
    const state = stateFile();
    await put({ a: '1', b: '2' });
    await once({ stateFile: state });
    await inRemote('rm a b');
    await expect(once({ stateFile: state })).rejects.toMatchObject({
      code: 'sync_stopped',
      reason: 'root_emptied',
    });
    await inRemote(`rmdir ../${remote} && true`);
    await sandbox.files.remove(remote);
    await expect(once({ stateFile: state })).rejects.toMatchObject({ reason: 'root_vanished' });
    expect(await treeOf(local)).toEqual({ a: '1', b: '2' });
    await inRemote('true');
    await once({ stateFile: state, allowEmpty: true });
    expect(await treeOf(local)).toEqual({});
    await rm(state);
  });

  it('skips names that are not UTF-8 on either side, and says so', async () => {
    await put({ fine: '1' });
    await writeFile(Buffer.concat([Buffer.from(join(local, 'here')), Buffer.from([0xff])]), '');
    await inRemote("touch $'there\\xff' && mkdir $'dir\\xfe' && touch $'dir\\xfe/inside'");
    const events = await once();
    const skipped = events.flatMap((event) => (event.type === 'skipped' ? [[event.side, event.path]] : []));
    expect(skipped.sort()).toEqual([
      ['local', 'here\ufffd'],
      ['remote', 'dir\ufffd'],
      ['remote', 'dir\ufffd/inside'],
      ['remote', 'there\ufffd'],
    ]);
    expect(await inRemote('ls -A | wc -l')).toBe('3\n');
    expect(await readdir(local)).toHaveLength(2);
  });

  it('moves what was renamed without sending it again', async () => {
    const state = stateFile();
    await put({ 'a/one': 'content of one', 'a/two': 'content of two' });
    await once({ stateFile: state });
    await rename(join(local, 'a'), join(local, 'b'));
    const events = await once({ stateFile: state });
    expect(events.filter(({ type }) => type === 'progress')).toEqual([]);
    expect(events).toContainEqual(
      expect.objectContaining({ action: 'rename', path: 'b/one', from: 'a/one' }),
    );
    await inRemote('mv b c');
    await once({ stateFile: state });
    expect(await treeOf(local)).toEqual({ c: 'dir', 'c/one': 'content of one', 'c/two': 'content of two' });
    await rm(state);
  });
});
