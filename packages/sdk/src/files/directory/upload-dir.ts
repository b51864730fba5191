import { runtime } from '#runtime';
import type { DaemonConnection } from '../../daemon/daemon-connection.js';
import { InvalidRequestError } from '../../errors/answer-errors.js';
import type { LocalEntry } from '../../runtime/contract/local-files.js';
import { compileIgnoreRules } from './ignore-rules.js';
import { TransferCount, type TransferOptions, type TransferResult } from './options.js';
import { runTar } from './tar-process.js';

export async function uploadDirectory(
  connection: DaemonConnection,
  local: string,
  makeRemote: () => Promise<string>,
  options: TransferOptions,
): Promise<TransferResult> {
  const operation = 'files.uploadDir';
  const files = await runtime.localFiles();
  const root = files.resolve(local);
  // A link to a directory is walked as that directory; what is in it is not followed.
  if (!(await files.isDirectory(root))) {
    throw new InvalidRequestError(`${operation}: ${root} is no directory of this machine.`, { operation });
  }
  const entries: LocalEntry[] = [];
  const total = { entries: 0, bytes: 0 };
  for await (const entry of files.walk(root, await compileIgnoreRules(options.ignore))) {
    options.signal?.throwIfAborted();
    entries.push(entry);
    total.entries += 1;
    total.bytes += entry.sizeBytes;
  }
  const directory = await makeRemote();
  const count = new TransferCount(options.onProgress, total);
  // Owners are the sandbox user's under any name; modes are kept.
  const args = ['-x', '-p', '-o', '-f', '-', '-C', directory];
  const input = files.pack(root, entries, count.add);
  for await (const _ of runTar(connection, { operation, args, input, options }));
  return count.result;
}
