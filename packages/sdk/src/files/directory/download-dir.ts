import { runtime } from '#runtime';
import type { DaemonConnection } from '../../daemon/daemon-connection.js';
import { compileIgnoreRules } from './ignore-rules.js';
import { TransferCount, type TransferOptions, type TransferResult } from './options.js';
import { runTar } from './tar-process.js';

export async function downloadDirectory(
  connection: DaemonConnection,
  remote: string,
  local: string,
  options: TransferOptions,
): Promise<TransferResult> {
  const operation = 'files.downloadDir';
  const files = await runtime.localFiles();
  const count = new TransferCount(options.onProgress);
  const archive = runTar(connection, { operation, args: ['-c', '-f', '-', '-C', remote, '.'], options });
  await files.extract(files.resolve(local), archive, {
    excludes: await compileIgnoreRules(options.ignore),
    onEntry: count.add,
  });
  return count.result;
}
