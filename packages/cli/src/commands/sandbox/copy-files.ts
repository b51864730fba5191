import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, posix } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { Sandbox } from '@svc/sdk';
import { quote } from '#support/quote';
import type { Cli } from '../../cli/cli.js';
import { CliError } from '../../errors/cli-error.js';
import { localTarget, receiveFile } from '../../local/receive-file.js';
import { formatBytes } from '../../output/format.js';
import { type Progress, startProgress, transferText } from '../../output/progress.js';

interface Copy {
  local: string;
  remote: string;
}

interface CopyOptions {
  ignore?: string[];
  user?: string;
  vcs?: boolean;
}

/** Copies a file or directory of this machine, or standard input, into a sandbox. */
export async function upload(cli: Cli, sandbox: Sandbox, copy: Copy, options: CopyOptions): Promise<void> {
  const { local } = copy;
  const { signal } = cli;
  const { user, ignore } = options;
  if (local === '-') {
    const source = Readable.toWeb(cli.io.stdin) as ReadableStream<Uint8Array>;
    const written = await sandbox.files.write(copy.remote, source, { user, signal });
    return printResult(cli, { path: written.path }, `Wrote ${written.path}`);
  }
  const facts = await stat(local).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      `${local} cannot be read: ${error.code === 'ENOENT' ? 'it does not exist' : error.message}.`,
    );
  });
  const progress = startProgress(cli.out, local);
  try {
    if (facts.isDirectory()) {
      const result = await sandbox.files.uploadDir(local, copy.remote, {
        user,
        ignore,
        signal,
        onProgress: report(progress, local),
      });
      return printResult(
        cli,
        { ...result, path: copy.remote },
        `Copied ${result.entries} entries, ${formatBytes(result.bytes)}, to ${copy.remote}`,
      );
    }
    const target = await fileTarget(sandbox, copy.remote, basename(local), { user, signal });
    let sent = 0;
    const counted = async function* () {
      for await (const chunk of createReadStream(local, { highWaterMark: 256 * 1024 })) {
        sent += (chunk as Buffer).byteLength;
        progress.update(transferText(local, sent, facts.size));
        yield chunk as Uint8Array;
      }
    };
    const source = Readable.toWeb(
      Readable.from(counted(), { objectMode: false }),
    ) as ReadableStream<Uint8Array>;
    const written = await sandbox.files.write(target, source, { user, signal });
    // A file that may be executed here may be executed there.
    if ((facts.mode & 0o111) !== 0)
      await sandbox.commands.run(`chmod ${(facts.mode & 0o777).toString(8)} -- ${quote(written.path)}`, {
        user,
        signal,
      });
    printResult(
      cli,
      { entries: 1, bytes: facts.size, path: written.path },
      `Copied ${formatBytes(facts.size)} to ${written.path}`,
    );
  } finally {
    progress.done();
  }
}

/** Copies a file or directory of a sandbox to this machine, or a file to standard output. */
export async function download(cli: Cli, sandbox: Sandbox, copy: Copy, options: CopyOptions): Promise<void> {
  const { remote } = copy;
  const { signal } = cli;
  const { user, ignore, vcs } = options;
  const entry = await sandbox.files.stat(remote, { user, signal });
  if (copy.local === '-') {
    if (entry.type === 'directory')
      throw new CliError(`${remote} is a directory; only a file can be written to standard output.`);
    const source = await sandbox.files.read(remote, { format: 'stream', user, signal });
    await pipeline(Readable.fromWeb(source as NodeReadableStream), cli.io.stdout, { end: false });
    return;
  }
  const local = entry.type === 'directory' ? copy.local : await localTarget(remote, copy.local);
  const progress = startProgress(cli.out, remote);
  try {
    if (entry.type === 'directory') {
      const result = await sandbox.files.downloadDir(entry.path, local, {
        user,
        ignore,
        vcs,
        signal,
        onProgress: report(progress, remote),
      });
      for (const { path, reason } of result.skipped)
        cli.out.note(`Left out ${JSON.stringify(path)}: ${reason}.`);
      return printResult(
        cli,
        { ...result, path: local },
        `Copied ${result.entries} entries, ${formatBytes(result.bytes)}, to ${local}`,
      );
    }
    let received = 0;
    const counted = async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        received += chunk.byteLength;
        progress.update(transferText(remote, received, entry.sizeBytes));
        yield chunk;
      }
    };
    const source = await sandbox.files.read(remote, { format: 'stream', user, signal });
    await receiveFile(local, entry.mode, counted(Readable.fromWeb(source as NodeReadableStream)));
    printResult(
      cli,
      { entries: 1, bytes: received, path: local },
      `Copied ${formatBytes(received)} to ${local}`,
    );
  } finally {
    progress.done();
  }
}

/** Where a file goes: into the directory that is named, else to the very path. */
async function fileTarget(
  sandbox: Sandbox,
  remote: string,
  name: string,
  call: { user: string | undefined; signal: AbortSignal },
): Promise<string> {
  if (remote === '.' || remote.endsWith('/')) return posix.join(remote, name);
  if (!(await sandbox.files.exists(remote, call))) return remote;
  return (await sandbox.files.stat(remote, call)).type === 'directory' ? posix.join(remote, name) : remote;
}

function report(progress: Progress, name: string) {
  return ({
    bytes,
    totalBytes,
    entries,
  }: {
    bytes: number;
    totalBytes: number | undefined;
    entries: number;
  }) => progress.update(`${transferText(name, bytes, totalBytes)}  ${entries} entries`);
}

function printResult(cli: Cli, record: object, text: string): void {
  if (cli.out.json) cli.out.line(JSON.stringify(record));
  else cli.out.note(text);
}
