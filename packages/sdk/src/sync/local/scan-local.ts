import { createHash } from 'node:crypto';
import { lstat, open, readdir, readlink } from 'node:fs/promises';
import { SyncLimitError } from '../errors.js';
import type { Exclusions } from '../rules/ignore.js';
import { linkProblem, pathProblem } from '../rules/names.js';
import { type Digests, type Scan, type ScanLimits, settledAfterMs } from '../scan.js';
import { fingerprintOf, hasCode, type LocalRoot, readFlags } from './local-root.js';

interface ScanOptions {
  root: LocalRoot;
  exclusions: Exclusions;
  known: Digests;
  limits: ScanLimits;
  signal: AbortSignal;
}

const readBytes = 1024 * 1024;
/** Files of one directory that are read at the same time. */
const readAtOnce = 8;

/** Looks at the local tree: what is there, and what is in the files that changed. */
export async function scanLocal(options: ScanOptions): Promise<Scan> {
  const { root, exclusions, known, limits, signal } = options;
  const scan: Scan = { tree: new Map(), blocked: new Map(), busy: new Set(), digests: new Map() };
  let totalBytes = 0;
  await walk('');
  return scan;

  async function walk(directory: string): Promise<void> {
    signal.throwIfAborted();
    const held = await root.enter(directory).catch((error) => {
      if (directory === '') throw error;
      giveUp(directory, error);
      return undefined;
    });
    if (held === undefined) return;
    const inside: string[] = [];
    try {
      const names = await readdir(held.at('.')).catch((error) => {
        if (directory === '') throw error;
        giveUp(directory, error);
        return [];
      });
      const work = names.sort().values();
      const readers = Array.from({ length: readAtOnce }, async () => {
        for (const name of work) if (await look(directory, name, held.at(name))) inside.push(name);
      });
      await Promise.all(readers);
    } finally {
      await held.close();
    }
    for (const name of inside.sort()) await walk(directory === '' ? name : `${directory}/${name}`);
  }

  /** Takes down one entry. Tells whether it is a directory to be entered. */
  async function look(directory: string, name: string, at: string): Promise<boolean> {
    const path = directory === '' ? name : `${directory}/${name}`;
    const stats = await lstat(at, { bigint: true }).catch((error) => {
      // A name that is not UTF-8 cannot be asked for.
      if (name.includes('\ufffd') && !exclusions.excludes(path, false))
        scan.blocked.set(path, 'the name is not UTF-8');
      else if (!hasCode(error, 'ENOENT')) giveUp(path, error);
      return undefined;
    });
    if (stats === undefined || exclusions.excludes(path, stats.isDirectory())) return false;
    const problem = pathProblem(path);
    if (problem !== undefined) return block(path, problem);
    if (scan.tree.size >= limits.maxEntries) throw SyncLimitError.entries('local', limits.maxEntries);
    const found = {
      fingerprint: fingerprintOf(stats),
      sizeBytes: stats.isFile() ? Number(stats.size) : 0,
      mode: Number(stats.mode & 0o777n),
      modifiedMs: Number(stats.mtimeNs / 1_000_000n),
    };
    if (stats.isDirectory()) {
      scan.tree.set(path, { type: 'directory', ...found });
      return true;
    }
    if (stats.isSymbolicLink()) {
      const target = await readlink(at).catch(() => '');
      const wrong = linkProblem(path, target);
      if (wrong !== undefined) return block(path, wrong);
      scan.tree.set(path, { type: 'symlink', target, ...found });
      return false;
    }
    if (!stats.isFile()) return block(path, 'it is no file, directory or link');
    if (found.sizeBytes > limits.maxFileSizeBytes) return block(path, 'the file is too large');
    totalBytes += found.sizeBytes;
    if (totalBytes > limits.maxTotalBytes) throw SyncLimitError.bytes('local', limits.maxTotalBytes);
    const digest = await digestOf(path, at, found);
    if (digest === undefined) return false;
    const isSettled = Date.now() - Number(stats.ctimeNs / 1_000_000n) > settledAfterMs;
    if (isSettled) scan.digests.set(path, { fingerprint: found.fingerprint, digest });
    scan.tree.set(path, { type: 'file', digest, executable: (found.mode & 0o100) !== 0, ...found });
    return false;
  }

  async function digestOf(
    path: string,
    at: string,
    { fingerprint, sizeBytes }: { fingerprint: string; sizeBytes: number },
  ): Promise<string | undefined> {
    const before = known.get(path);
    if (before?.fingerprint === fingerprint) return before.digest;
    try {
      const file = await open(at, readFlags);
      try {
        const hash = createHash('sha256');
        const buffer = Buffer.allocUnsafe(Math.min(readBytes, sizeBytes + 1));
        for (;;) {
          signal.throwIfAborted();
          const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
          if (bytesRead === 0) break;
          hash.update(buffer.subarray(0, bytesRead));
        }
        if (fingerprintOf(await file.stat({ bigint: true })) === fingerprint) return hash.digest('hex');
      } finally {
        await file.close();
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!hasCode(error, 'ENOENT', 'ELOOP')) {
        giveUp(path, error);
        return undefined;
      }
    }
    scan.busy.add(path);
    return undefined;
  }

  function block(path: string, reason: string): false {
    scan.blocked.set(path, reason);
    return false;
  }

  function giveUp(path: string, error: unknown): void {
    // What went, or became something else, between two looks is seen by the next one.
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) scan.busy.add(path);
    else
      scan.blocked.set(
        path,
        hasCode(error, 'EACCES', 'EPERM') ? 'it may not be read' : String((error as Error).message),
      );
    scan.tree.delete(path);
  }
}
