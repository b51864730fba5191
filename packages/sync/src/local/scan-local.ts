import { createHash } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  unlinkSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { linkProblem, pathProblem } from '@svc/sdk/local-trees';
import { SyncLimitError } from '../errors.js';
import type { Exclusions } from '../rules/ignore.js';
import { isDraftName } from '../rules/names.js';
import { type Digests, type Scan, type ScanLimits, settledAfterMs } from '../scan.js';
import { fingerprintOf, hasCode, type LocalRoot, readFlags, smallFileBytes } from './local-root.js';

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
/** Age from which a draft is what a run left that broke off, ms. */
const brokenAfterMs = 3_600_000;
/** Longest work without a pause for the rest of the program, ms. */
const longestTurnMs = 15;

/** Looks at the local tree: what is there, and what is in the files that changed. */
export async function scanLocal(options: ScanOptions): Promise<Scan> {
  const { root, exclusions, known, limits, signal } = options;
  const scan: Scan = { tree: new Map(), blocked: new Map(), busy: new Set(), digests: new Map() };
  let totalBytes = 0;
  let turnMs = Date.now();
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
      const names = namesIn(directory, held.at('.'));
      const work = names.sort().values();
      const readers = Array.from({ length: readAtOnce }, async () => {
        for (const name of work) {
          if (await look(directory, name, held.at(name))) inside.push(name);
          await letOthersRun();
        }
      });
      await Promise.all(readers);
    } finally {
      await held.close();
    }
    for (const name of inside.sort()) await walk(directory === '' ? name : `${directory}/${name}`);
  }

  function namesIn(directory: string, at: string): string[] {
    try {
      return readdirSync(at);
    } catch (error) {
      if (directory === '') throw error;
      giveUp(directory, error);
      return [];
    }
  }

  /** Steps of microseconds are not awaited one by one, but nothing else shall wait long for them either. */
  async function letOthersRun(): Promise<void> {
    if (Date.now() - turnMs < longestTurnMs) return;
    await nextTurn();
    turnMs = Date.now();
  }

  /** Takes down one entry. Returns true for a directory to be entered. */
  async function look(directory: string, name: string, at: string): Promise<boolean> {
    const path = directory === '' ? name : `${directory}/${name}`;
    const stats = statsOf(path, name, at);
    if (stats === undefined) return false;
    if (isDraftName(name) && stats.isFile() && Date.now() - Number(stats.ctimeMs) > brokenAfterMs)
      removeDraft(at);
    if (exclusions.excludes(path, stats.isDirectory())) return false;
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
      const target = linkTarget(at);
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
      if (sizeBytes <= smallFileBytes) {
        const digest = digestAtOnce(at, sizeBytes, fingerprint);
        if (digest === undefined) scan.busy.add(path);
        return digest;
      }
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

  function statsOf(path: string, name: string, at: string) {
    try {
      const stats = lstatSync(at, { bigint: true, throwIfNoEntry: false });
      // A name that is not UTF-8 cannot be asked for.
      if (stats === undefined && name.includes('\ufffd') && !exclusions.excludes(path, false))
        scan.blocked.set(path, 'the name is not UTF-8');
      return stats;
    } catch (error) {
      giveUp(path, error);
      return undefined;
    }
  }

  function block(path: string, reason: string): false {
    scan.blocked.set(path, reason);
    return false;
  }

  function giveUp(path: string, error: unknown): void {
    // An entry that went, or became something else, between two looks is seen by the next one.
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) scan.busy.add(path);
    else
      scan.blocked.set(
        path,
        hasCode(error, 'EACCES', 'EPERM') ? 'it may not be read' : String((error as Error).message),
      );
    scan.tree.delete(path);
  }
}

/** Undefined when it changed meanwhile. */
function digestAtOnce(at: string, sizeBytes: number, fingerprint: string): string | undefined {
  const file = openSync(at, readFlags);
  try {
    const buffer = Buffer.allocUnsafe(sizeBytes + 1);
    let filled = 0;
    while (filled < buffer.length) {
      const count = readSync(file, buffer, filled, buffer.length - filled, null);
      if (count === 0) break;
      filled += count;
    }
    if (fingerprintOf(fstatSync(file, { bigint: true })) !== fingerprint) return undefined;
    return createHash('sha256').update(buffer.subarray(0, filled)).digest('hex');
  } finally {
    closeSync(file);
  }
}

function removeDraft(at: string): void {
  try {
    unlinkSync(at);
  } catch {
    // It is left out anyway.
  }
}

/** Returns the target of a link; nothing when the link went. */
function linkTarget(at: string): string {
  try {
    return readlinkSync(at);
  } catch {
    return '';
  }
}
