import type { OutputBudget } from './output-budget.js';
import type { OutputKind } from './program.js';

/** Memory that the output of one process may keep, bytes. What a connected reader still has to get is kept beyond it. */
export const KEPT_BYTES = 1024 * 1024;
/** What a block costs beside its bytes. */
const BLOCK_OVERHEAD_BYTES = 192;
/** Pieces from this size on are kept as they are; smaller ones are copied together. */
const LARGE_BYTES = 4096;
/** Largest block of small pieces, bytes. */
const SMALL_BLOCK_BYTES = 16 * 1024;

/** A run of output of one stream. */
interface Block {
  readonly kind: OutputKind;
  readonly bytes: Uint8Array;
  /** How many of the bytes are output. */
  used: number;
  /** Bytes of output before it. */
  readonly offset: number;
  /** Cost of all blocks before it, dropped ones included. */
  readonly costBefore: number;
}

/** The position of one reader in the output of a process. */
export interface OutputCursor {
  /** Bytes of output before this place. */
  readonly offset: number;
  /** Memory that is held for this reader, bytes. */
  readonly backlog: number;
  /** The next piece, at most 32 KiB (16 KiB of a terminal), or undefined when there is none yet. */
  read(): { output: OutputKind; bytes: Uint8Array } | undefined;
  /** The reader has left: nothing is held for it any more. */
  close(): void;
}

/**
 * The latest output of one process, numbered by the bytes that came before. Readers share it, each with a cursor of its
 * own: what a cursor has not read stays, everything else may be dropped to keep within the bounds.
 */
export class KeptOutput {
  readonly #budget: OutputBudget;
  readonly #blocks = new Map<number, Block>();
  readonly #cursors = new Set<Cursor>();
  /** Numbers of the oldest block and of the next one. */
  #first = 0;
  #next = 0;
  #end = 0;
  #costEnd = 0;
  #cost = 0;

  constructor(budget: OutputBudget) {
    this.#budget = budget;
  }

  /** Bytes of output so far. */
  get end(): number {
    return this.#end;
  }

  /** Memory that it holds, bytes. */
  get cost(): number {
    return this.#cost;
  }

  /** Adds a piece, which the caller may not change afterwards. */
  append(kind: OutputKind, bytes: Uint8Array): void {
    const last = this.#blocks.get(this.#next - 1);
    if (last?.kind === kind && bytes.length <= last.bytes.length - last.used) {
      last.bytes.set(bytes, last.used);
      last.used += bytes.length;
    } else {
      this.#add(kind, blockFor(bytes, last?.kind === kind ? last.bytes.length : 0), bytes.length);
    }
    this.#end += bytes.length;
    while (this.#cost > KEPT_BYTES && this.dropOldest());
  }

  /** A place for a reader: at the offset, or at the oldest byte that is kept after it; absent: at the end. */
  cursor(from = this.#end): OutputCursor {
    const cursor = new Cursor(this, () => this.#cursors.delete(cursor));
    this.#place(cursor, from);
    this.#cursors.add(cursor);
    return cursor;
  }

  /** Drops the oldest block. False when there is none that every reader has read. */
  dropOldest(): boolean {
    const block = this.#blocks.get(this.#first);
    if (!block) return false;
    for (const cursor of this.#cursors) {
      if (cursor.block < this.#first || (cursor.block === this.#first && cursor.at < block.used))
        return false;
    }
    this.#blocks.delete(this.#first++);
    this.#charge(-costOf(block));
    return true;
  }

  /** @internal Moves a cursor to the block that it has to read next, past those that were dropped. */
  next(cursor: Cursor): Block | undefined {
    if (cursor.block < this.#first) {
      cursor.block = this.#first;
      cursor.at = 0;
    }
    const block = this.#blocks.get(cursor.block);
    if (!block || cursor.at < block.used || cursor.block === this.#next - 1) return block;
    cursor.block++;
    cursor.at = 0;
    return this.#blocks.get(cursor.block);
  }

  /** @internal */
  offsetOf(cursor: Cursor): number {
    const block = this.next(cursor);
    return block ? block.offset + cursor.at : this.#end;
  }

  /** @internal */
  backlogOf(cursor: Cursor): number {
    const block = this.next(cursor);
    if (!block || block.offset + cursor.at === this.#end) return 0;
    return this.#costEnd - block.costBefore - cursor.at;
  }

  #place(cursor: Cursor, from: number): void {
    cursor.block = this.#next;
    cursor.at = 0;
    if (from >= this.#end) {
      const last = this.#blocks.get(this.#next - 1);
      // The last block may still grow.
      if (last) [cursor.block, cursor.at] = [this.#next - 1, last.used];
      return;
    }
    for (let number = this.#next - 1; number >= this.#first; number--) {
      const block = this.#blocks.get(number) as Block;
      cursor.block = number;
      cursor.at = Math.max(0, from - block.offset);
      if (block.offset <= from) return;
    }
  }

  #add(kind: OutputKind, bytes: Uint8Array, used: number): void {
    const block: Block = { kind, bytes, used, offset: this.#end, costBefore: this.#costEnd };
    this.#blocks.set(this.#next++, block);
    this.#costEnd += costOf(block);
    this.#charge(costOf(block));
  }

  #charge(bytes: number): void {
    this.#cost += bytes;
    this.#budget.charge(this, bytes);
  }
}

class Cursor implements OutputCursor {
  /** Number of the block that is read, and how many of its bytes have been. */
  block = 0;
  at = 0;
  readonly #output: KeptOutput;
  readonly close: () => void;

  constructor(output: KeptOutput, close: () => void) {
    this.#output = output;
    this.close = close;
  }

  get offset(): number {
    return this.#output.offsetOf(this);
  }

  get backlog(): number {
    return this.#output.backlogOf(this);
  }

  read(): { output: OutputKind; bytes: Uint8Array } | undefined {
    const block = this.#output.next(this);
    if (!block || this.at >= block.used) return undefined;
    const bytes = block.bytes.subarray(this.at, block.used);
    this.at = block.used;
    return { output: block.kind, bytes };
  }
}

/** Memory for a piece; with room for more when small pieces of the same stream follow each other. */
function blockFor(bytes: Uint8Array, previousSize: number): Uint8Array {
  if (bytes.length >= LARGE_BYTES) return bytes;
  const size = Math.max(bytes.length, Math.min(SMALL_BLOCK_BYTES, 2 * previousSize));
  const block = Buffer.allocUnsafeSlow(size);
  block.set(bytes);
  return block;
}

function costOf(block: Block): number {
  return block.bytes.length + BLOCK_OVERHEAD_BYTES;
}
