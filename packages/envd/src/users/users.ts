import { readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { type Accounts, type OsUser, parseAccounts } from './account-files.js';

export interface UsersOptions {
  /** Where everything runs as the daemon's own user: each known name maps to it, with this home directory. */
  singleUser?: { home: string };
  /** Account files. Defaults: /etc/passwd and /etc/group. */
  files?: { passwd: string; group: string };
}

/** The users of the operating system the daemon runs in. */
export interface Users {
  /** The user of that name, or undefined when there is none. */
  find(name: string): Promise<OsUser | undefined>;
  /** Names for the numbers of files. Take it once per listing. */
  names(): Promise<OwnerNames>;
}

/** Turns the numbers on a file into names; a number without a name becomes its decimal text. */
export interface OwnerNames {
  user(uid: number): string;
  group(gid: number): string;
}

/** Makes the user directory. Account files are read afresh when they have changed. */
export function createUsers(options: UsersOptions = {}): Users {
  const accounts = createAccountsCache(options.files ?? { passwd: '/etc/passwd', group: '/etc/group' });
  const single = options.singleUser && singleUserDirectory(options.singleUser.home);
  return {
    async find(name) {
      return single ? single(name) : accounts().users.get(name);
    },
    async names() {
      const { userNames, groupNames } = accounts();
      return {
        user: (uid) => userNames.get(uid) ?? String(uid),
        group: (gid) => groupNames.get(gid) ?? String(gid),
      };
    },
  };
}

function singleUserDirectory(home: string): (name: string) => OsUser | undefined {
  const self = ownAccount();
  const known = new Set(['user', 'root', self.name]);
  return (name) => (known.has(name) ? { ...self, name, home } : undefined);
}

function ownAccount(): OsUser {
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;
  const groups = (process.getgroups?.() ?? []).filter((group) => group !== gid);
  try {
    const info = userInfo();
    return { name: info.username, uid, gid, groups, home: info.homedir, shell: info.shell ?? '/bin/sh' };
  } catch {
    // A uid without an account, common in containers.
    return { name: String(uid), uid, gid, groups, home: '/', shell: '/bin/sh' };
  }
}

// Small local files: reading them at once is cheaper than a hop to another thread, and every call asks.
function createAccountsCache(files: { passwd: string; group: string }): () => Accounts {
  let cached: { version: string; accounts: Accounts } | undefined;
  return () => {
    const passwd = fileVersion(files.passwd);
    const group = fileVersion(files.group);
    const version = `${passwd} ${group}`;
    if (cached?.version === version) return cached.accounts;
    const accounts = parseAccounts(readText(files.passwd, passwd), readText(files.group, group));
    cached = { version, accounts };
    return accounts;
  };
}

function fileVersion(path: string): string {
  try {
    const stats = statSync(path, { bigint: true });
    // Opening anything else could wait for ever.
    if (!stats.isFile()) return 'none';
    const { ino, size, mtimeNs, ctimeNs } = stats;
    return `${ino}:${size}:${mtimeNs}:${ctimeNs}`;
  } catch {
    return 'none';
  }
}

function readText(path: string, version: string): string {
  try {
    return version === 'none' ? '' : readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
