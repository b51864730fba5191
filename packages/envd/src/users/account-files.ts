/** One user of the operating system, as a process or a file owner needs it. */
export interface OsUser {
  name: string;
  uid: number;
  gid: number;
  /** Supplementary groups; the primary one is not repeated. */
  groups: number[];
  home: string;
  shell: string;
}

/** What /etc/passwd and /etc/group say together. */
export interface Accounts {
  users: ReadonlyMap<string, OsUser>;
  userNames: ReadonlyMap<number, string>;
  groupNames: ReadonlyMap<number, string>;
}

/** Reads both account files' texts. Malformed lines are skipped; the first line of a name or number wins, as in libc. */
export function parseAccounts(passwd: string, group: string): Accounts {
  const users = new Map<string, OsUser>();
  const userNames = new Map<number, string>();
  const groupNames = new Map<number, string>();
  for (const fields of lines(passwd)) {
    const [name, , uidText, gidText, , home, shell] = fields;
    const uid = parseId(uidText);
    const gid = parseId(gidText);
    if (!name || uid === undefined || gid === undefined) continue;
    if (!users.has(name)) {
      users.set(name, { name, uid, gid, groups: [], home: home || '/', shell: shell || '/bin/sh' });
    }
    if (!userNames.has(uid)) userNames.set(uid, name);
  }
  for (const fields of lines(group)) {
    const [name, , gidText, members] = fields;
    const gid = parseId(gidText);
    if (!name || gid === undefined) continue;
    if (!groupNames.has(gid)) groupNames.set(gid, name);
    for (const member of (members ?? '').split(',')) {
      const user = users.get(member.trim());
      if (user && user.gid !== gid && !user.groups.includes(gid)) user.groups.push(gid);
    }
  }
  return { users, userNames, groupNames };
}

function* lines(text: string): Generator<string[]> {
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    yield line.split(':');
  }
}

function parseId(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined;
  return Number(text);
}
