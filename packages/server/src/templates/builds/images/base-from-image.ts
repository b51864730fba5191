import { mkdir, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import { draftsDirectory } from '../../../storage/builds/paths.js';
import { BuildError, buildSpec, DEFAULT_USER } from '../shared/build.js';
import type { BuildTools } from '../shared/build-tools.js';
import { BuildMachine } from '../shared/machine.js';
import { MAKE_USER } from '../steps/user.js';
import { openDockerArchive } from './docker-archive.js';
import type { LocalImage } from './image.js';
import { parseImageReference } from './image-reference.js';
import { openOciLayout } from './oci-layout.js';
import { pullImage } from './pull.js';
import { squashImage } from './squash.js';
import { unpackArchive } from './unpack-archive.js';

interface ImageBase {
  layers: string[];
  key: string;
  env: Record<string, string>;
}

/** Adds what sandboxes need of an image: the default user with its home, and places for temporary files. */
const PREPARE = `(${MAKE_USER}) >&2
mkdir -p /tmp /var/tmp /run && chmod 1777 /tmp /var/tmp`;

/** Makes layers of an image. Its environment is kept; user, directory and commands are the template's own matter. */
export async function baseFromImage(tools: BuildTools, reuse: boolean): Promise<ImageBase> {
  const { context, job, log, cache, signal } = tools;
  if (context.driver.capabilities.layers !== 'rootfs')
    throw new BuildError(
      "this server runs sandboxes as plain processes, which cannot start from an image: use fromTemplate, for example 'base', or start the server with the linux driver",
    );
  const draft = path.join(draftsDirectory(context.config), `image-${context.ids.uuid()}`);
  await mkdir(draft, { recursive: true, mode: 0o700 });
  try {
    log.add('info', `starting from image ${job.request.fromImage}`);
    const limits = context.config.archives;
    const image = await openImage(tools, draft);
    const key = `image:${image.digest}`;
    const files = reuse ? await cache.find(key) : undefined;
    const users = reuse ? await cache.find(`${key}:users`) : undefined;
    if (files && users) {
      log.add('info', 'taken from the cache');
      return { layers: [files, users], key, env: readEnvironment(image.env) };
    }
    log.add('info', `unpacking ${image.layers.length} layers`);
    const imported = await context.driver.layers.importTar(await squashImage(image, limits, signal), {
      limits,
      signal,
    });
    await cache.put(key, imported);
    const prepared = await prepare(tools, imported.id);
    await cache.put(`${key}:users`, prepared);
    return { layers: [imported.id, prepared.id], key, env: readEnvironment(image.env) };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function prepare({ context, job, signal }: BuildTools, layer: string) {
  const spec = buildSpec(context, job.build, [layer]);
  await using machine = await BuildMachine.boot(context, spec, { teamId: job.build.team_id }, signal);
  await machine.script('preparing the image (it needs /bin/sh and common tools)', PREPARE, [
    DEFAULT_USER,
    '1000',
  ]);
  return await machine.instance.commitLayer();
}

async function openImage(tools: BuildTools, draft: string): Promise<LocalImage> {
  const { context, job, log, signal } = tools;
  const limits = context.config.archives;
  const reference = parseImageReference(job.request.fromImage!);
  if (reference.kind === 'registry') {
    const layout = await pullImage({
      ...reference,
      credentials: job.registry,
      allowPrivateAddresses: context.config.builds.allowPrivateRegistries,
      draft,
      hide: context.config.dataDir,
      maxBytes: limits.maxBytes,
      signal,
      onLine: (line) => log.add('warn', line),
    });
    return openOciLayout(layout, 'latest', limits);
  }
  const file = await allowedImagePath(reference.path, context.config.builds.imageDirectories);
  if (reference.kind === 'oci') return openOciLayout(file, reference.tag, limits);
  const unpacked = path.join(draft, 'archive');
  await mkdir(unpacked);
  await unpackArchive(file, unpacked, limits, signal);
  return reference.kind === 'oci-archive'
    ? openOciLayout(unpacked, reference.tag, limits)
    : openDockerArchive(unpacked, reference.tag, limits);
}

function readEnvironment(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.flatMap((pair) => {
      const cut = pair.indexOf('=');
      const name = pair.slice(0, Math.max(cut, 0));
      return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? [[name, pair.slice(cut + 1)]] : [];
    }),
  );
}

/**
 * The real path of an image on the server, which must lie in a directory that the operator allows.
 * @throws {BuildError} the same for what is missing and what is not allowed
 */
async function allowedImagePath(wanted: string, directories: readonly string[]): Promise<string> {
  const real = await realpath(wanted).catch(() => undefined);
  for (const directory of directories) {
    const allowed = await realpath(directory).catch(() => undefined);
    if (real !== undefined && allowed !== undefined && real.startsWith(`${allowed}${path.sep}`)) return real;
  }
  throw new BuildError(
    `there is no image at '${wanted}' that builds may use: images on the server must lie in a directory that its operator allows (imageDirectories; by default 'images' in its data directory)`,
  );
}
