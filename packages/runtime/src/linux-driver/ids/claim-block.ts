import { linkSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSameProcess, processStart } from '#support/process-identity';
import { readText } from '../../shared/read-text.js';
import type { IdPool } from '../state/options.js';
import type { Paths } from '../state/paths.js';
import { DEFAULT_POOL, idBlocks, overlap, RANGES, requireUsable } from './blocks.js';
import { IDS } from './id-ranges.js';

/** Ids in a block that was written down without their number. */
const EARLIER = RANGES * IDS;

interface Claim {
  /** The number of ids. */
  count: number;
  /** Data directory of the driver. */
  dataDir: string;
  /** The process that wrote it, until the data directory says so too. */
  pid: number;
  start: string | undefined;
}

/**
 * Takes a block of ids that no other driver of this host has; the same as before if it can be. Undefined when there is none.
 * @param inUse true if instances have ids of the former block: then it stays, regardless of the pool.
 * @throws {DriverError} `unsupported` for a pool that was chosen and cannot be used
 */
export function claimBlock(paths: Paths, chosen?: IdPool, inUse = false): IdPool | undefined {
  mkdirSync(paths.idClaims, { recursive: true, mode: 0o700 });
  const taken = subordinateIds();
  if (chosen !== undefined) requireUsable(chosen, taken);
  const blocks = idBlocks(chosen ?? DEFAULT_POOL, paths.tag, taken);
  const before = recordedBlock(paths.dataDir);
  const known = before !== undefined && blocks.some((each) => isSame(each, before));
  if (before !== undefined && (inUse || known)) blocks.unshift(before);
  else releaseBlock(paths);
  const block = blocks.find((each) => claim(each, paths));
  if (block !== undefined) writeFileSync(paths.idsFile, JSON.stringify(block), { mode: 0o600 });
  return block;
}

/** Gives the block back, once no instance is left. */
export function releaseBlock(paths: Paths): void {
  const block = recordedBlock(paths.dataDir);
  const file = block && claimFile(block, paths);
  if (file !== undefined && readClaim(file)?.dataDir === paths.dataDir) rmSync(file, { force: true });
  rmSync(paths.idsFile, { force: true });
}

function claim(block: IdPool, paths: Paths): boolean {
  const { dataDir } = paths;
  if (hasRival(block, paths)) return false;
  const file = claimFile(block, paths);
  const draft = `${file}.${process.pid}`;
  const mine: Claim = {
    count: block.count,
    dataDir,
    pid: process.pid,
    start: processStart(process.pid),
  };
  writeFileSync(draft, JSON.stringify(mine), { mode: 0o600 });
  try {
    const found = readClaim(file);
    if (found?.dataDir === dataDir) {
      renameSync(draft, file);
      return true;
    }
    if (found !== undefined) {
      if (isHeld(found, block)) return false;
      const aside = `${draft}.old`;
      renameSync(file, aside);
      const moved = readClaim(aside);
      // Somebody was quicker: what was moved is another's claim by now.
      if (moved?.dataDir !== found.dataDir) linkSync(aside, file);
      rmSync(aside, { force: true });
    }
    linkSync(draft, file);
    // Two that overlap may have come at the same moment: each sees the other then, and continues the search.
    if (!hasRival(block, paths)) return true;
    rmSync(file, { force: true });
    return false;
  } catch {
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Returns true if another driver has ids of a block: the claims of another pool begin at other ids. */
function hasRival(block: IdPool, { dataDir, idClaims }: Paths): boolean {
  return readdirSync(idClaims).some((name) => {
    if (!/^[0-9a-f]+$/.test(name)) return false;
    const first = Number.parseInt(name, 16);
    if (first === block.first) return false;
    const found = readClaim(join(idClaims, name));
    if (found === undefined || found.dataDir === dataDir) return false;
    const other = { first, count: found.count };
    return overlap(block, other) && isHeld(found, other);
  });
}

function isHeld({ dataDir, pid, start }: Claim, block: IdPool): boolean {
  return recordedBlock(dataDir)?.first === block.first || (start !== undefined && isSameProcess(pid, start));
}

function isSame(one: IdPool, other: IdPool): boolean {
  return one.first === other.first && one.count === other.count;
}

function claimFile(block: IdPool, { idClaims }: Paths): string {
  return join(idClaims, block.first.toString(16));
}

function readClaim(file: string): Claim | undefined {
  const claim = parse<Omit<Claim, 'count'> & { count?: number }>(readText(file));
  return claim === undefined ? undefined : { ...claim, count: claim.count ?? EARLIER };
}

function recordedBlock(dataDir: string): IdPool | undefined {
  const found = parse<Partial<IdPool> & { block?: number }>(readText(join(dataDir, 'ids.json')));
  const first = found?.first ?? found?.block;
  return first === undefined ? undefined : { first, count: found?.count ?? EARLIER };
}

function subordinateIds(): string {
  return ['/etc/subuid', '/etc/subgid'].map((file) => readText(file) ?? '').join('\n');
}

function parse<T>(text: string | undefined): T | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined;
  }
}
