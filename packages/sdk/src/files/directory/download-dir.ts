import { runtime } from '#runtime';
import type { DaemonConnection } from '../../daemon/daemon-connection.js';
import { compileIgnoreRules } from './ignore-rules.js';
import { type DownloadOptions, type DownloadResult, type SkippedEntry, TransferCount } from './options.js';
import { runTar } from './tar-process.js';

/** The sandbox decides how much is left out, so not all of it is kept. */
const mostSkipped = 1_000;

export async function downloadDirectory(
  connection: DaemonConnection,
  remote: string,
  local: string,
  options: DownloadOptions,
): Promise<DownloadResult> {
  const operation = 'files.downloadDir';
  const files = await runtime.localFiles();
  const skipped: SkippedEntry[] = [];
  const count = new TransferCount(options.onProgress);
  const archive = runTar(connection, { operation, args: ['-c', '-f', '-', '-C', remote, '.'], options });
  await files.extract(files.resolve(local), archive, {
    excludes: await compileIgnoreRules(options.ignore),
    vcs: options.vcs ?? false,
    onEntry: count.add,
    onSkipped: (path, reason) => {
      if (skipped.length < mostSkipped) skipped.push({ path, reason });
    },
  });
  return { ...count.result, skipped };
}
