import { BLOCK_BYTES } from '../../archive/tar-header.js';
import { fileEntry, headersOf, readTarEntries, TAR_END } from './tar-entries.js';
import { isHidden, type LayerIndex } from './whiteouts.js';

/** Part of a root file system, as a tar archive. */
export interface ImagePart {
  open(): AsyncIterable<Buffer>;
  /** The prefix of its paths in the archive, such as `rootfs/`. The rest of the archive is left out. */
  within?: string;
  /** Where its paths go, such as `.sbx/`. */
  into?: string;
  /** Its entries; undefined for the lowest, which hides nothing. */
  index?: LayerIndex;
}

export interface ImageFacts {
  /** Of the kernel: `x86_64`, `aarch64`. */
  architecture: string;
  createdAtMs: number;
  properties: Record<string, string>;
}

const DIRECTORY_OF_ROOT = 'rootfs';
/** The daemon's directory: of every image its own, regardless of layers. */
const RESERVED = '.sbx';

/** An image as Incus imports it: a plain tar archive of what it is and of its root file system, the lowest part first. */
export async function* composeImage(facts: ImageFacts, parts: readonly ImagePart[]): AsyncGenerator<Buffer> {
  const metadata = {
    architecture: facts.architecture,
    creation_date: Math.floor(facts.createdAtMs / 1000),
    properties: facts.properties,
  };
  // JSON is YAML.
  yield fileEntry('metadata.yaml', JSON.stringify(metadata));
  for (const [at, part] of parts.entries()) {
    const above = parts.slice(at + 1).flatMap(({ index }) => (index === undefined ? [] : [index]));
    yield* passOn(part, above);
  }
  yield TAR_END;
}

async function* passOn(part: ImagePart, above: readonly LayerIndex[]): AsyncGenerator<Buffer> {
  const within = part.within ?? '';
  const into = part.into ?? '';
  const pending: Buffer[] = [];
  let bytes = 0;
  for await (const { entry, body } of readTarEntries(part.open())) {
    const inside = below(within, entry.path);
    if (inside === undefined) continue;
    const path = `${into}${inside}`.replace(/\/$/, '');
    if (into === '' && (path === RESERVED || path.startsWith(`${RESERVED}/`))) continue;
    if (path !== '' && isHidden(path, entry.type, above)) continue;
    const link =
      entry.type === '1'
        ? `${DIRECTORY_OF_ROOT}/${into}${below(within, entry.linkPath) ?? ''}`
        : entry.linkPath;
    pending.push(headersOf(entry, path === '' ? DIRECTORY_OF_ROOT : `${DIRECTORY_OF_ROOT}/${path}`, link));
    bytes += BLOCK_BYTES;
    for await (const chunk of body) {
      pending.push(chunk);
      bytes += chunk.length;
    }
    if (bytes < 2 ** 18) continue;
    yield Buffer.concat(pending.splice(0));
    bytes = 0;
  }
  if (pending.length > 0) yield Buffer.concat(pending);
}

/** A path as seen from a directory of the archive; undefined: it is outside. */
function below(directory: string, path: string): string | undefined {
  if (directory === '') return path;
  if (`${path}/` === directory) return '';
  return path.startsWith(directory) ? path.slice(directory.length) : undefined;
}
