import { execFileSync } from 'node:child_process';
import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { OWN_ARCHITECTURE } from '../../src/templates/builds/shared/build.js';
import { sha256, type TarFile, tarOf } from '../support/templates.js';

/** A small root file system of programs of this host, with the libraries that they need. */
export async function tinyRootfs(): Promise<TarFile[]> {
  const programs = [
    'cat',
    'chmod',
    'chown',
    'cp',
    'dirname',
    'grep',
    'id',
    'ls',
    'mkdir',
    'mkfifo',
    'sed',
    'stat',
    'tar',
    'find',
    'rm',
  ];
  const files = new Map<string, string>([['bin/sh', '/bin/dash']]);
  for (const name of programs)
    files.set(
      `bin/${name}`,
      execFileSync('/bin/sh', ['-c', `command -v ${name}`])
        .toString()
        .trim(),
    );
  for (const program of [...files.values()])
    for (const [, library] of execFileSync('ldd', [program])
      .toString()
      .matchAll(/(\/\S+) \(0x/g))
      files.set(library!.slice(1), library!);
  return Promise.all(
    [...files].map(async ([name, file]) => ({
      name,
      mode: 0o755,
      content: await readFile(await realpath(file)),
    })),
  );
}

export interface ImageOptions {
  env?: string[];
  tag?: string;
  architecture?: string;
  /** Encodes a layer from its tar. Default: by gzip. */
  pack?: (tar: Buffer) => Buffer;
  mediaType?: string;
  /** The digests of the layers' tars in the configuration. Default: the true ones. */
  diffIds?: (digests: string[]) => unknown[];
}

export const byZstd = (tar: Buffer) => execFileSync('zstd', ['-c'], { input: tar });

/** Writes an image as an OCI layout: one layer per list, or per tar. */
export async function writeOciLayout(
  directory: string,
  layers: (TarFile[] | Buffer)[],
  options: ImageOptions = {},
): Promise<void> {
  await mkdir(path.join(directory, 'blobs', 'sha256'), { recursive: true });
  const blob = async (content: Buffer) => {
    const hex = sha256(content);
    await writeFile(path.join(directory, 'blobs', 'sha256', hex), content);
    return { digest: `sha256:${hex}`, size: content.length };
  };
  const { pack = (tar: Buffer) => gzipSync(tar, { level: 1 }), diffIds = (digests) => digests } = options;
  const { mediaType = `application/vnd.oci.image.layer.v1.tar+${pack === byZstd ? 'zstd' : 'gzip'}` } =
    options;
  const tars = await Promise.all(
    layers.map(async (layer) => (Buffer.isBuffer(layer) ? layer : await tarOf(layer))),
  );
  const described = [];
  for (const tar of tars) described.push({ mediaType, ...(await blob(pack(tar))) });
  const config = await blob(
    Buffer.from(
      JSON.stringify({
        architecture: options.architecture ?? OWN_ARCHITECTURE,
        os: 'linux',
        rootfs: { type: 'layers', diff_ids: diffIds(tars.map((tar) => `sha256:${sha256(tar)}`)) },
        config: { Env: options.env ?? [], User: 'web', Entrypoint: ['/bin/app'] },
      }),
    ),
  );
  const manifest = await blob(Buffer.from(JSON.stringify({ schemaVersion: 2, config, layers: described })));
  await writeFile(path.join(directory, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  await writeFile(
    path.join(directory, 'index.json'),
    JSON.stringify({
      schemaVersion: 2,
      manifests: [
        {
          mediaType: 'application/vnd.oci.image.manifest.v1+json',
          ...manifest,
          annotations: { 'org.opencontainers.image.ref.name': options.tag ?? 'latest' },
        },
      ],
    }),
  );
}
