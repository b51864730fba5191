import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSameProcess, processStart } from '#support/process-identity';
import { readText } from '../../shared/read-text.js';
import type { IdPool } from '../state/options.js';
import type { Paths } from '../state/paths.js';
import { DEFAULT_POOL, idBlocks } from './blocks.js';

/** One file per block that a driver of this host has, named after its first id. Gone after a restart of the machine, like the instances. */
const CLAIMS = '/run/svc/ids';

interface Claim {
  /** Data directory of the driver. */
  dataDir: string;
  /** Who wrote it, until the data directory says so too. */
  pid: number;
  start: string | undefined;
}

/** Takes a block of ids that no other driver of this host has; the same as before if it can be. Undefined when there is none. */
export function claimBlock(paths: Paths, pool: IdPool = DEFAULT_POOL): number | undefined {
  mkdirSync(CLAIMS, { recursive: true, mode: 0o700 });
  const blocks = idBlocks(pool, paths.tag, subordinateIds());
  const before = recordedBlock(paths.dataDir);
  if (before !== undefined && blocks.includes(before)) blocks.unshift(before);
  const block = blocks.find((each) => claim(each, paths.dataDir));
  if (block !== undefined) writeFileSync(paths.idsFile, JSON.stringify({ block }), { mode: 0o600 });
  return block;
}

/** Gives the block back, once no instance is left. */
export function releaseBlock(paths: Paths): void {
  const block = recordedBlock(paths.dataDir);
  if (block !== undefined && readClaim(claimFile(block))?.dataDir === paths.dataDir)
    rmSync(claimFile(block), { force: true });
  rmSync(paths.idsFile, { force: true });
}

function claim(block: number, dataDir: string): boolean {
  const file = claimFile(block);
  const draft = `${file}.${process.pid}`;
  const mine: Claim = { dataDir, pid: process.pid, start: processStart(process.pid) };
  writeFileSync(draft, JSON.stringify(mine), { mode: 0o600 });
  try {
    const found = readClaim(file);
    if (found?.dataDir === dataDir) return true;
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
    return true;
  } catch {
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
}

function isHeld({ dataDir, pid, start }: Claim, block: number): boolean {
  return recordedBlock(dataDir) === block || (start !== undefined && isSameProcess(pid, start));
}

function claimFile(block: number): string {
  return join(CLAIMS, block.toString(16));
}

function readClaim(file: string): Claim | undefined {
  return parse<Claim>(readText(file));
}

function recordedBlock(dataDir: string): number | undefined {
  return parse<{ block?: number }>(readText(join(dataDir, 'ids.json')))?.block;
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
