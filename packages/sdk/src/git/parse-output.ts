import type { GitBranch, GitChange, GitCommit, GitFileStatus, GitPushedRef, GitStatus } from './records.js';

const changes: Readonly<Record<string, GitChange>> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  R: 'renamed',
  C: 'copied',
  T: 'type_changed',
};

/** Reads `git status --porcelain=v2 --branch -z`. */
export function parseStatus(output: string): GitStatus {
  const records = output.split('\0').filter((record) => record !== '');
  const headers = new Map<string, string>();
  const files: GitFileStatus[] = [];
  for (let at = 0; at < records.length; at++) {
    const record = records[at]!;
    const words = record.split(' ');
    if (words[0] === '#') headers.set(words[1] ?? '', words.slice(2).join(' '));
    // Fields stand before the path, which may hold spaces.
    else if (words[0] === '1') files.push(changed(words[1], words.slice(8)));
    else if (words[0] === '2') files.push(changed(words[1], words.slice(9), records[++at]));
    else if (words[0] === 'u') files.push(both(words.slice(10), 'conflict', 'conflict'));
    else if (words[0] === '?') files.push(both(words.slice(1), undefined, 'untracked'));
  }
  const counts = /^\+(\d+) -(\d+)$/.exec(headers.get('branch.ab') ?? '');
  return {
    branch: known(headers.get('branch.head'), '(detached)'),
    commit: known(headers.get('branch.oid'), '(initial)'),
    upstream: headers.get('branch.upstream'),
    ahead: Number(counts?.[1] ?? 0),
    behind: Number(counts?.[2] ?? 0),
    clean: files.length === 0,
    files,
  };
}

function changed(states = '..', path: string[], from?: string): GitFileStatus {
  return { ...both(path, changes[states[0] ?? ''], changes[states[1] ?? '']), from };
}

function both(path: string[], staged: GitChange | undefined, unstaged: GitChange | undefined): GitFileStatus {
  return { path: path.join(' '), from: undefined, staged, unstaged };
}

function known(value: string | undefined, unknown: string): string | undefined {
  return value === unknown ? undefined : value;
}

/** For `git for-each-ref`: fields of {@link parseBranches}. */
export const branchFormat = '%(HEAD)%00%(refname:short)%00%(objectname)%00%(upstream:short)';

export function parseBranches(output: string): GitBranch[] {
  const lines = output.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const [head, name = '', commit = '', upstream = ''] = line.split('\0');
    return { name, commit, current: head === '*', upstream: upstream === '' ? undefined : upstream };
  });
}

/** For `git log -z`: fields of {@link parseCommits}. */
export const commitFormat = '%H%x00%P%x00%an%x00%ae%x00%aI%x00%B';

export function parseCommits(output: string): GitCommit[] {
  const fields = output.split('\0');
  const commits: GitCommit[] = [];
  for (let at = 0; at + 6 <= fields.length; at += 6) {
    const [commit = '', parents = '', name = '', email = '', date = '', message = ''] = fields.slice(
      at,
      at + 6,
    );
    commits.push({
      commit,
      parents: parents === '' ? [] : parents.split(' '),
      author: { name, email },
      date: new Date(date),
      message: message.trimEnd(),
    });
  }
  return commits;
}

const pushFlags: Readonly<Record<string, GitPushedRef['change']>> = {
  '*': 'created',
  ' ': 'updated',
  '+': 'forced',
  '-': 'deleted',
  '=': 'none',
};

/** Reads `git push --porcelain`. */
export function parsePush(output: string): GitPushedRef[] {
  return output.split('\n').flatMap((line) => {
    const [, flag = '', ref = ''] = /^([* +=-])\t[^\t]*:([^\t:]+)\t/.exec(line) ?? [];
    const change = pushFlags[flag];
    return change === undefined ? [] : [{ ref, change }];
  });
}
