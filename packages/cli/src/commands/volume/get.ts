import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { localTarget, receiveFile } from '../../local/receive-file.js';
import { formatBytes } from '../../output/format.js';
import { startProgress, transferText } from '../../output/progress.js';
import { findVolume } from './find-volume.js';

export function addGet(volume: Command): void {
  leaf(
    volume,
    'get <volume> <path> [file]',
    'copy a file of a volume to this machine, or to - for standard output',
  ).action(
    act(async (cli, nameOrId: string, path: string, file: string | undefined) => {
      const { signal } = cli;
      const found = await findVolume(cli, nameOrId);
      const source = async () =>
        Readable.fromWeb((await found.read(path, { format: 'stream', signal })) as NodeReadableStream);
      if (file === '-') return pipeline(await source(), cli.io.stdout, { end: false });
      const { sizeBytes } = await found.stat(path, { signal });
      const target = await localTarget(path, file ?? '.');
      const progress = startProgress(cli.out, path);
      let received = 0;
      const counted = async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          received += chunk.byteLength;
          progress.update(transferText(path, received, sizeBytes));
          yield chunk;
        }
      };
      try {
        await receiveFile(target, 0o666, counted(await source()));
      } finally {
        progress.done();
      }
      if (cli.out.json) cli.out.line(JSON.stringify({ path: target, bytes: received }));
      cli.out.note(`Wrote ${formatBytes(received)} to ${target}`);
    }),
  );
}
