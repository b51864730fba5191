import { readFileSync } from 'node:fs';
import { DriverError } from '../../contract/errors.js';

const MIB = 2 ** 20;
/** Of the host's memory and process numbers, what sandboxes never get, all together. */
const KEPT_SHARE = 0.1;
const MIN_KEPT_BYTES = 256 * MIB;
const MAX_KEPT_BYTES = 2_048 * MIB;
const PIDS_SHARE = 0.75;
/** A sandbox may ask for much and touch little: no more than this part of the host must be free for it. */
const MOST_REQUIRED_SHARE = 1 / 8;

export interface HostMemory {
  totalBytes: number;
  availableBytes: number;
}

/** The resources for all sandboxes together; written into the cgroup above theirs, so that the service and the host keep working. */
export interface Budget {
  memoryBytes: number;
  pids: number;
}

/** @param maxMemoryMiB Default: the host's memory but a tenth of it, at least 256 MiB and at most 2 GiB. */
export function budgetOf(
  host: { totalMemoryBytes: number; pidMax: number },
  maxMemoryMiB: number | undefined,
): Budget {
  const kept = Math.min(MAX_KEPT_BYTES, Math.max(MIN_KEPT_BYTES, host.totalMemoryBytes * KEPT_SHARE));
  const most = Math.max(64 * MIB, host.totalMemoryBytes - kept);
  const memoryBytes = Math.floor(Math.min(most, maxMemoryMiB === undefined ? most : maxMemoryMiB * MIB));
  return { memoryBytes, pids: Math.floor(host.pidMax * PIDS_SHARE) };
}

/** The most that a sandbox may use, as far as it is known. */
export interface RoomRequest {
  memoryMiB?: number;
  pids?: number;
}

/** The resources of the host, and the part of them in use. */
export interface Use {
  memory: HostMemory;
  usedMemoryBytes: number;
  usedPids: number;
  budget: Budget;
}

/**
 * Why there is no room for one more sandbox; undefined when there is. Limits may add up to more than the host has, as
 * most sandboxes idle; what is in use may not.
 */
export function refusal(request: RoomRequest, now: Use): string | undefined {
  const { memory, budget } = now;
  const wanted = Math.min((request.memoryMiB ?? 0) * MIB, memory.totalBytes * MOST_REQUIRED_SHARE);
  const kept = Math.max(MIN_KEPT_BYTES / 2, memory.totalBytes * (KEPT_SHARE / 2));
  if (memory.availableBytes - wanted < Math.min(kept, MAX_KEPT_BYTES))
    return 'The memory of the host is used up';
  if (now.usedMemoryBytes + Math.min(wanted, budget.memoryBytes / 4) > budget.memoryBytes)
    return 'The memory for sandboxes is used up';
  if (now.usedPids + Math.min(request.pids ?? 0, budget.pids / 8) > budget.pids)
    return 'The process numbers for sandboxes are used up';
  return undefined;
}

/** Memory that sandboxes which nobody asked for yet may use: twice as far from the end as {@link refusal} begins to refuse. */
export function spareBytes(now: { memory: HostMemory; usedMemoryBytes: number; budget: Budget }): number {
  const { memory, usedMemoryBytes, budget } = now;
  const kept = Math.min(MAX_KEPT_BYTES, Math.max(MIN_KEPT_BYTES, memory.totalBytes * KEPT_SHARE));
  return Math.max(0, Math.min(memory.availableBytes - kept, budget.memoryBytes * (3 / 4) - usedMemoryBytes));
}

/** @throws {DriverError} `no_capacity` with a reason of {@link refusal}. */
export function requireRoom(...given: Parameters<typeof refusal>): void {
  const reason = refusal(...given);
  if (reason !== undefined) throw new DriverError('no_capacity', reason);
}

/** The age up to which a look at what is in use lets a sandbox in, ms. */
const BELIEVED_MS = 100;

/**
 * Lets sandboxes in while there is room. In a burst of creates one look serves those of a tenth of a second: the kernel adds up
 * what all sandboxes use, and what one has just begun to use shows no earlier. It is never refused without a new look.
 */
export class Admission {
  readonly #look: () => Use;
  readonly #now: () => number;
  #last: { use: Use; atMs: number } | undefined;

  /** @param now ms of a clock that never goes back. Default the process's own. */
  constructor(look: () => Use, now: () => number = () => performance.now()) {
    this.#look = look;
    this.#now = now;
  }

  /** @throws {DriverError} `no_capacity` with a reason of {@link refusal}. */
  require(request: RoomRequest): void {
    const atMs = this.#now();
    const last = this.#last;
    if (last !== undefined && atMs - last.atMs < BELIEVED_MS && refusal(request, last.use) === undefined)
      return;
    const use = this.#look();
    this.#last = { use, atMs };
    requireRoom(request, use);
  }
}

export function readHostMemory(text = readFileSync('/proc/meminfo', 'utf8')): HostMemory {
  const bytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
  return { totalBytes: bytes('MemTotal'), availableBytes: bytes('MemAvailable') };
}

/** The number of processes and threads that this host can have. */
export function readPidMax(): number {
  const read = (name: string) => Number(readFileSync(`/proc/sys/kernel/${name}`, 'utf8'));
  return Math.min(read('pid_max'), read('threads-max'));
}
