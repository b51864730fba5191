import { statSync } from 'node:fs';
import { DriverError } from '../../contract/errors.js';
import { Turns } from '../../shared/turns.js';
import { programName } from './program-name.js';
import { readMappings } from './read-mappings.js';

/** The most characters of `/proc/<pid>/maps` of all programs: some 300,000 mappings. A busy browser has a tenth of them. */
const MAX_TEXT = 32 * 2 ** 20;
/** Range, device with inode, path. */
const FILE_MAPPING = /^([0-9a-f]+-[0-9a-f]+) \S+ \S+ (\S+ [1-9]\d*) +(\/.*)$/;

interface Mapping {
  range: string;
  numbers: string;
  path: string;
}

/**
 * Refuses programs that have two files mapped side by side that CRIU would take for one: it compares the numbers in
 * `/proc/<pid>/maps`, where files of two volumes, or of an overlay's parts on different file systems, may have the same. A
 * copy would have the wrong file in its memory and nobody would notice. To be called when the programs are frozen.
 * @throws {DriverError} `undumpable`, also where there are more mappings than anybody should wait for.
 */
export async function requireDistinctMappings(pids: readonly number[], proc = '/proc'): Promise<void> {
  const turns = new Turns();
  let left = MAX_TEXT;
  for (const pid of pids) {
    let before: Mapping | undefined;
    for await (const lines of readMappings(pid, turns, proc)) {
      for (const line of lines) {
        left -= line.length;
        const mapping = parseMapping(line);
        if (mapping !== undefined && before !== undefined && areDuplicates(`${proc}/${pid}`, before, mapping))
          throw cannotBeStored(
            `${programName(pid)} has two files mapped side by side that a checkpoint cannot distinguish, ${before.path} and ${mapping.path}, because they have the same inode number. A copy of one of them has a number of its own`,
          );
        before = mapping;
      }
      if (left < 0)
        throw cannotBeStored(
          `its programs have too many memory mappings, ${programName(pid)} among them: some 300,000 is the most`,
        );
    }
  }
}

function cannotBeStored(why: string): DriverError {
  return new DriverError('undumpable', `The memory of the sandbox cannot be stored: ${why}.`);
}

function parseMapping(line: string): Mapping | undefined {
  const [, range, numbers, path] = FILE_MAPPING.exec(line) ?? [];
  return range === undefined ? undefined : { range, numbers: numbers!, path: path! };
}

/** Names of one file may differ, and a deleted name may have been that of several. */
function areDuplicates(process: string, one: Mapping, other: Mapping): boolean {
  if (one.numbers !== other.numbers) return false;
  if (one.path === other.path && !one.path.endsWith(' (deleted)')) return false;
  const [first, second] = [one, other].map(({ range }) =>
    statSync(`${process}/map_files/${range}`, { bigint: true, throwIfNoEntry: false }),
  );
  return first?.dev !== second?.dev || first?.ino !== second?.ino;
}
