import { BuildError } from '../shared/build.js';

/** The source of an image. */
export type ImageReference =
  | { kind: 'registry'; reference: string; registry: string }
  | { kind: 'oci' | 'oci-archive' | 'docker-archive'; path: string; tag: string | undefined };

const LOCAL = /^(oci|oci-archive|docker-archive):(.*)$/s;

/**
 * Reads `fromImage`: `[docker://]registry/name:tag`, or `oci:/path[:tag]`, `oci-archive:/path[:tag]`,
 * `docker-archive:/path[:name:tag]` on the server.
 * @throws {BuildError}
 */
export function parseImageReference(text: string): ImageReference {
  const trimmed = text.trim();
  const local = LOCAL.exec(trimmed);
  if (local !== null) {
    const rest = local[2]!;
    const colon = rest.indexOf(':');
    const path = colon < 0 ? rest : rest.slice(0, colon);
    if (!path.startsWith('/')) throw new BuildError(`'${trimmed}' needs an absolute path on the server`);
    const tag = colon < 0 ? undefined : rest.slice(colon + 1);
    return { kind: local[1] as 'oci', path, tag: tag === '' ? undefined : tag };
  }
  const reference = trimmed.replace(/^docker:\/\//, '');
  // Nothing that has a special meaning on a command line or in a URL.
  if (
    !/^[A-Za-z0-9][A-Za-z0-9._/-]*(:[0-9]+\/[A-Za-z0-9._/-]+)?(:[A-Za-z0-9_][A-Za-z0-9._-]*)?(@sha256:[0-9a-f]{64})?$/.test(
      reference,
    )
  )
    throw new BuildError(`'${trimmed.slice(0, 200)}' is not an image reference`);
  const first = reference.split('/')[0]!;
  const named = reference.includes('/') && (/[.:]/.test(first) || first === 'localhost');
  return { kind: 'registry', reference, registry: named ? first : 'docker.io' };
}
