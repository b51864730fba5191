import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, posix } from 'node:path';
import { Readable } from 'node:stream';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { CliError } from '../../errors/cli-error.js';
import { formatBytes } from '../../output/format.js';
import { startProgress, transferText } from '../../output/progress.js';
import { findVolume } from './find-volume.js';

export function addPut(volume: Command): void {
  leaf(
    volume,
    'put <volume> <file> [path]',
    'copy a file of this machine, or - for standard input, into a volume',
  ).action(
    act(async (cli, nameOrId: string, file: string, path: string | undefined) => {
      const total = file === '-' ? undefined : await sizeOf(file);
      const target = targetPath(path, file);
      const { signal } = cli;
      const found = await findVolume(cli, nameOrId);
      const progress = startProgress(cli.out, file);
      let sent = 0;
      const counted = async function* () {
        for await (const chunk of file === '-' ? cli.io.stdin : createReadStream(file)) {
          sent += (chunk as Uint8Array).byteLength;
          progress.update(transferText(file, sent, total));
          yield chunk as Uint8Array;
        }
      };
      try {
        const source = Readable.toWeb(
          Readable.from(counted(), { objectMode: false }),
        ) as ReadableStream<Uint8Array>;
        const entry = await found.write(target, source, { force: true, signal });
        if (cli.out.json) cli.out.line(JSON.stringify(entry));
      } finally {
        progress.done();
      }
      cli.out.note(`Wrote ${formatBytes(sent)} to ${target}`);
    }),
  );
}

/** Where a file goes: a path that ends with a slash, or none, takes the file's own name. Pure. */
export function targetPath(path: string | undefined, file: string): string {
  if (path !== undefined && !path.endsWith('/')) return posix.join('/', path);
  if (file === '-')
    throw new CliError('Standard input has no name: give the path in the volume.', {
      exitCode: 2,
      code: 'usage',
    });
  return posix.join('/', path ?? '', basename(file));
}

async function sizeOf(file: string): Promise<number> {
  const facts = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      `${file} cannot be read: ${error.code === 'ENOENT' ? 'it does not exist' : error.message}.`,
    );
  });
  if (facts.isDirectory())
    throw new CliError(`${file} is a directory; put copies one file.`, {
      hint: 'Mount the volume and copy into it: svc sandbox cp DIR ID:/mnt/...',
    });
  return facts.size;
}
