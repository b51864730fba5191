import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseAccounts } from '../../src/users/account-files.js';
import { createUsers } from '../../src/users/index.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'envd-users-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test('a user has the groups that name it as a member, without its primary one', () => {
  const { users } = parseAccounts(
    'root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000:Ann,,,:/home/ann:/bin/zsh\n',
    'root:x:0:\nann:x:1000:ann\nsudo:x:27:bob,ann\ndisk:x:6:bob\n',
  );
  expect(users.get('ann')).toEqual({
    name: 'ann',
    uid: 1000,
    gid: 1000,
    groups: [27],
    home: '/home/ann',
    shell: '/bin/zsh',
  });
});

test('malformed lines are skipped, and the first of two equal names or numbers wins', () => {
  const { users, userNames } = parseAccounts(
    '# comment\n\nbad\nx:y:z\nneg:x:-1:0::/:\na:x:5:5::/a:\na:x:6:6::/b:\nb:x:5:5::/c:',
    '',
  );
  expect([...users.keys()]).toEqual(['a', 'b']);
  expect(users.get('a')).toMatchObject({ uid: 5, home: '/a', shell: '/bin/sh' });
  expect(userNames.get(5)).toBe('a');
});

test('a user that is added later is found', async () => {
  const files = { passwd: join(directory, 'passwd'), group: join(directory, 'group') };
  const users = createUsers({ files });
  expect(await users.find('late')).toBeUndefined();
  await writeFile(files.passwd, 'late:x:7:8::/late:/bin/sh\n');
  expect(await users.find('late')).toMatchObject({ uid: 7, gid: 8 });
  await writeFile(files.group, 'g:x:9:late\n');
  expect((await users.find('late'))?.groups).toEqual([9]);
  expect((await users.names()).user(7)).toBe('late');
  expect((await users.names()).group(4242)).toBe('4242');
});

test('with a single user, known names share its ids and home, and others are unknown', async () => {
  const users = createUsers({ singleUser: { home: '/some/dir' } });
  for (const name of ['user', 'root']) {
    expect(await users.find(name)).toMatchObject({ name, uid: process.getuid!(), home: '/some/dir' });
  }
  expect(await users.find('nobody-like-this')).toBeUndefined();
});
