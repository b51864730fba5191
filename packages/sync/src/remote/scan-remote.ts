import { ServerError } from '@svc/sdk';
import { linkProblem, pathProblem } from '@svc/sdk/local-trees';
import { SyncLimitError, SyncStoppedError } from '../errors.js';
import { ancestorsOf, type FoundEntry } from '../plan/tree.js';
import type { Exclusions } from '../rules/ignore.js';
import { ownPrefix } from '../rules/names.js';
import { type Digests, type Scan, type ScanLimits, settledAfterMs } from '../scan.js';
import { runScript, type SyncSandbox } from './remote-shell.js';

/** Where the remote side is, and as whom to work there. */
export interface RemoteRoot {
  readonly sandbox: SyncSandbox;
  /** Absolute path of the directory. */
  readonly path: string;
  readonly user: string | undefined;
}

interface ScanOptions {
  root: RemoteRoot;
  exclusions: Exclusions;
  known: Digests;
  limits: ScanLimits;
  signal: AbortSignal;
}

/** The result of a look at the remote side; undefined when there is nothing at the root's path. */
export type RemoteScan = Scan | undefined;

/** Lists the tree below `$1`; the names `$2`, `$3`, ... are listed, but not entered. */
const listScript = `cd -- "$1" 2>/dev/null || { if [ -e "$1" ] || [ -L "$1" ]; then printf 'denied\\0'; else printf 'missing\\0'; fi; exit 0; }
find --version 2>/dev/null | grep -q GNU && sha256sum -z </dev/null >/dev/null 2>&1 || { printf 'unsupported\\0'; exit 0; }
printf 'tree\\0%s\\0' "$(date +%s.%N)"
shift
n=$#
while [ "$n" -gt 0 ]; do set -- "$@" -name "$1" -o; shift; n=$((n - 1)); done
find . -mindepth 1 \\( -type d \\( ! -readable -o ! -executable \\) -printf 'X\\0%P\\0\\0' -prune \\) -o \\( -printf '%y %m %s %i:%s:%T@:%C@\\0%P\\0%l\\0' \\( "$@" -false \\) -prune \\) || :
printf 'end\\0'`;

/** Digests of the files that standard input names. */
const digestScript = `cd -- "$1" && xargs -0 -r sha256sum -z 2>/dev/null || :`;

/**
 * Looks at the tree of the sandbox. Nothing that it says is believed to be more than a name, a number or a digest:
 * programs in it may say anything.
 */
export async function scanRemote(options: ScanOptions): Promise<RemoteScan> {
  const { root, exclusions, known, limits, signal } = options;
  const { sandbox, path: directory, user } = root;
  const scan: Scan = { tree: new Map(), blocked: new Map(), busy: new Set(), digests: new Map() };
  const names = [`${ownPrefix}*`, ...exclusions.names];
  const run = { sandbox, user, signal };
  const leftOut = new Set<string>();
  const files: { path: string; found: FoundEntry & { type: 'file' } }[] = [];
  let [listed, totalBytes, nowMs] = [0, 0, 0];
  if (!(await list())) return undefined;
  await digest();
  dropOrphans();
  return scan;

  /** False when there is nothing at the root's path. */
  async function list(): Promise<boolean> {
    const records = fieldsOf(runScript(sandbox, { ...run, script: listScript, args: [directory, ...names] }));
    try {
      const first = await next(records);
      if (first === 'missing') return false;
      if (first !== 'tree') throw refusal(first, directory);
      nowMs = 1000 * Number(await next(records));
      for (;;) {
        const facts = await next(records);
        if (facts === 'end') return true;
        const [path, target] = [await next(records), await next(records)];
        listed += 1;
        // Entries that are left out count too, or a sandbox could list names without end.
        if (listed > 4 * limits.maxEntries) throw SyncLimitError.entries('remote', limits.maxEntries);
        take(facts, path, target);
      }
    } finally {
      await records.return();
    }
  }

  function take(facts: string, path: string, target: string): void {
    const fields = /^([a-zA-Z?]) ([0-7]{1,5}) (\d{1,16}) (\d+:\d+:-?[\d.]+:-?[\d.]+)$/.exec(facts);
    const type = facts === 'X' ? 'X' : fields?.[1];
    if (type === undefined) throw garbled();
    const problem = pathProblem(path);
    if (problem !== undefined) return void scan.blocked.set(path, problem);
    if (ancestorsOf(path).some((above) => leftOut.has(above))) return;
    if (exclusions.excludes(path, type === 'd' || type === 'X')) {
      leftOut.add(path);
      return;
    }
    if (scan.tree.has(path) || scan.blocked.has(path)) throw garbled();
    if (scan.tree.size >= limits.maxEntries) throw SyncLimitError.entries('remote', limits.maxEntries);
    if (type === 'X' || fields === null) return void scan.blocked.set(path, 'it may not be read');
    const fingerprint = fields[4] as string;
    const found = {
      fingerprint,
      sizeBytes: type === 'f' ? Number(fields[3]) : 0,
      mode: Number.parseInt(fields[2] as string, 8) & 0o777,
      modifiedMs: Math.floor(1000 * Number(fingerprint.split(':')[2])),
    };
    if (type === 'd') scan.tree.set(path, { type: 'directory', ...found });
    else if (type === 'l') {
      const wrong = linkProblem(path, target);
      if (wrong !== undefined) return void scan.blocked.set(path, wrong);
      scan.tree.set(path, { type: 'symlink', target, ...found });
    } else if (type !== 'f') scan.blocked.set(path, 'it is no file, directory or link');
    else if (found.sizeBytes > limits.maxFileSizeBytes) scan.blocked.set(path, 'the file is too large');
    else {
      totalBytes += found.sizeBytes;
      if (totalBytes > limits.maxTotalBytes) throw SyncLimitError.bytes('remote', limits.maxTotalBytes);
      const before = known.get(path);
      const digest = before?.fingerprint === fingerprint ? before.digest : '';
      const entry = { type: 'file', digest, executable: (found.mode & 0o100) !== 0, ...found } as const;
      scan.tree.set(path, entry);
      if (digest === '') files.push({ path, found: entry });
      else scan.digests.set(path, { fingerprint, digest });
    }
  }

  async function digest(): Promise<void> {
    if (files.length === 0) return;
    const wanted = new Map(files.map(({ path, found }) => [path, found]));
    const encoder = new TextEncoder();
    const input = (async function* () {
      for (let at = 0; at < files.length; at += 1_000) {
        const part = files.slice(at, at + 1_000);
        yield encoder.encode(part.map(({ path }) => `./${path}\0`).join(''));
      }
    })();
    const answers = fieldsOf(runScript(sandbox, { ...run, script: digestScript, args: [directory], input }));
    for await (const answer of answers) {
      const [, value, path] = /^([0-9a-f]{64}) [ *]\.\/(.+)$/s.exec(answer) ?? [];
      const found = path === undefined ? undefined : wanted.get(path);
      if (value === undefined || path === undefined || found === undefined) throw garbled();
      wanted.delete(path);
      scan.tree.set(path, { ...found, digest: value });
      const changedMs = 1000 * Number(found.fingerprint.split(':')[3]);
      if (nowMs - changedMs > settledAfterMs)
        scan.digests.set(path, { fingerprint: found.fingerprint, digest: value });
    }
    for (const path of wanted.keys()) {
      // Deleted meanwhile, or not readable: the next look shows which.
      scan.tree.delete(path);
      scan.blocked.set(path, 'it may not be read, or it went while it was looked at');
    }
  }

  /** An entry below something that is no directory cannot be: the list contradicts itself. */
  function dropOrphans(): void {
    for (const path of [...scan.tree.keys()]) {
      const wrong = ancestorsOf(path).find((above) => scan.tree.get(above)?.type !== 'directory');
      if (wrong === undefined) continue;
      scan.tree.delete(path);
      if (!scan.blocked.has(wrong)) scan.busy.add(wrong);
    }
  }
}

const longestField = 16_384;

/** Fields that end with NUL. What is not UTF-8 in them becomes U+FFFD, which no path may have. */
async function* fieldsOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const data: Buffer = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = data.indexOf(0); end !== -1; end = data.indexOf(0, start)) {
      const field = decoder.decode(data.subarray(start, end));
      start = end + 1;
      yield field;
    }
    rest = data.subarray(start);
    if (rest.length > longestField) throw garbled();
  }
}

async function next(fields: AsyncGenerator<string, void, undefined>): Promise<string> {
  const { value, done } = await fields.next();
  if (done) throw garbled();
  return value;
}

function refusal(word: string, directory: string): Error {
  if (word === 'denied')
    return new SyncStoppedError(
      `sync: ${directory} of the sandbox is no directory, or its user may not enter it.`,
      { reason: 'root_vanished' },
    );
  if (word !== 'unsupported') return garbled();
  return new SyncStoppedError(
    'sync: the sandbox has no GNU find or sha256sum, which compare its files. Use a template that has findutils and coreutils.',
    { reason: 'unsupported' },
  );
}

function garbled(): ServerError {
  return new ServerError(
    'sync: the sandbox described its files in a way that cannot be understood. A program in it may have been replaced.',
    { operation: 'sync' },
  );
}
