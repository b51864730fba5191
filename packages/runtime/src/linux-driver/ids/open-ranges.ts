import { basename } from 'node:path';
import { DriverError } from '../../contract/errors.js';
import { TESTED_RUNTIMES } from '../../host/host-facts.js';
import type { LinuxDriverOptions } from '../state/options.js';
import type { Paths } from '../state/paths.js';
import type { Store } from '../store/store.js';
import { rangesOf } from './blocks.js';
import { claimBlock, releaseBlock } from './claim-block.js';
import { IdRanges } from './id-ranges.js';

const CONSEQUENCE =
  "users in sandboxes have the numbers of the host's, share the kernel's limits per user, and set-uid programs have no effect";

/** The ranges of host ids for instances, or why there are none: a sentence for the operator. */
export type OpenedRanges = { ranges: IdRanges } | { problem: string; detail?: string | undefined };

export interface RangesOptions {
  store: Store;
  paths: Paths;
  /** OCI runtime. */
  runtime: string;
  /** Absolute path of the tree that new instances stand on, if there is one. */
  base: string | undefined;
  pool: LinuxDriverOptions['ids'];
  /** True if instances have ids already. */
  inUse: boolean;
}

/**
 * Takes a block of ids and finds out, by trying, whether the file systems of this host can be mounted with them.
 * @throws {DriverError} `unsupported` for ids that were chosen and cannot be used
 */
export async function openRanges({
  store,
  paths,
  runtime,
  base,
  pool,
  inUse,
}: RangesOptions): Promise<OpenedRanges> {
  if (pool === false) return { problem: `Ranges of user ids are turned off: ${CONSEQUENCE}.` };
  if (!TESTED_RUNTIMES.some((name) => name === basename(runtime)))
    return { problem: `The OCI runtime ${runtime} is not known to separate ids: ${CONSEQUENCE}.` };
  const block = claimBlock(paths, pool, inUse);
  if (block === undefined && pool !== undefined)
    throw new DriverError(
      'unsupported',
      `Other data directories of this machine have the user ids ${pool.first} to ${pool.first + pool.count - 1} (see /run/svc/ids): choose others.`,
    );
  if (block === undefined) return { problem: `No block of user ids is free: ${CONSEQUENCE}.` };
  try {
    await store.run(
      {
        name: 'mounts_try_own',
        variables: {
          FIRST_ID: block.first,
          ARCH: process.arch,
          ROOT_LAYERS: base === undefined ? 'base' : `base:${base}`,
          USR_LAYERS: 'usr-mask:/usr',
        },
        arguments: store.removal('i/.try'),
      },
      { timeoutMs: 30_000 },
    );
    return { ranges: new IdRanges(block.first, rangesOf(block)) };
  } catch (error) {
    releaseBlock(paths);
    return {
      problem: `File systems cannot be mounted with ids of their own here (Linux 5.19 or later and perl are needed): ${CONSEQUENCE}.`,
      detail: DriverError.is(error) ? error.detail : String(error),
    };
  }
}
