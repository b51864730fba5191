import path from 'node:path';
import { Readable } from 'node:stream';
import { anyOf } from '#support/any-of';
import { ApiError } from '../../../api/errors/api-error.js';
import { readResumed } from '../../../cluster/copies/read-resumed.js';
import { NodeUnreachableError } from '../../../cluster/nodes/node-unreachable.js';
import { draftsDirectory, filesArchive } from '../../../storage/builds/paths.js';
import { assertDiskRoom } from '../../../teams/quota/storage-use.js';
import type { Uses } from '../../context.js';
import { BuildError } from '../shared/build.js';
import { type FilesPlace, findFiles } from './find-files.js';
import { receiveArchive } from './receive-archive.js';

/** Time for another node to send all files, ms. */
const MOST_MS = 600_000;
/** Longest silence of that node, ms. */
const STALL_MS = 10_000;

type Context = Uses<'config' | 'copies' | 'db' | 'ids' | 'log' | 'nodes'>;

/**
 * The archive of uploaded files on this node, fetched from the one that has it. What another node sends is bounded by the size that
 * was recorded with the upload, and is used only when it has the digest of the upload.
 * @throws {BuildError} when there are none, or their nodes do not send them
 */
export async function bringFiles(
  context: Context,
  { templateId, hash, signal }: { templateId: string; hash: string; signal: AbortSignal },
): Promise<string> {
  const place = await findFiles(context, templateId, hash);
  if (place.kind === 'here') return place.archive;
  if (place.kind === 'missing') throw new BuildError(`no files with the hash ${hash} were uploaded`);
  const gone = `the server that has the files with the hash ${hash} does not give them: upload them again`;
  if (place.kind !== 'node') throw new BuildError(gone);
  const target = filesArchive(context.config, templateId, hash);
  try {
    await assertDiskRoom(context);
    await fetchFiles(context, place, { path: filesPath(templateId, hash), target, signal });
    return target;
  } catch (error) {
    signal.throwIfAborted();
    context.log.warn(
      { err: error, templateId, hash, fromNodeId: place.node.id },
      'files were not brought here',
    );
    const own = ApiError.is(error) && error.status === 503 && !NodeUnreachableError.is(error);
    throw new BuildError(own ? error.message : gone);
  }
}

/** Path of the internal call. */
function filesPath(templateId: string, hash: string): string {
  return `/node/files/${templateId}/${hash}`;
}

async function fetchFiles(
  { config, copies, ids }: Context,
  { node, sizeBytes, digest }: Extract<FilesPlace, { kind: 'node' }>,
  options: { path: string; target: string; signal: AbortSignal },
): Promise<void> {
  const signal = anyOf([options.signal, AbortSignal.timeout(MOST_MS)]);
  const open = async (offset: number, stalled: AbortSignal) => {
    if (offset > 0) throw new Error('the connection broke off');
    const bounds = anyOf([signal, stalled]);
    const answer = await copies.forwarder.open(node, { method: 'GET', url: options.path, signal: bounds });
    if (answer.statusCode === 200) return answer;
    answer.destroy();
    throw new Error(`it answered ${answer.statusCode}`);
  };
  const body = Readable.from(
    readResumed(open, () => {}, STALL_MS),
    { objectMode: false },
  );
  try {
    await receiveArchive({
      body,
      target: options.target,
      draft: path.join(draftsDirectory(config), ids.uuid()),
      limitBytes: sizeBytes,
      archives: config.archives,
      digest,
      signal,
    });
  } finally {
    body.destroy();
  }
}
