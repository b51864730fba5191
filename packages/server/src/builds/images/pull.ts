import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { components } from '@svc/platform';
import { BuildError } from '../build-error.js';
import { authFile } from './registry-auth.js';

export interface PullOptions {
  reference: string;
  registry: string;
  credentials: components['schemas']['FromImageRegistry'] | undefined;
  /** An empty directory of this build; the caller removes it. */
  draft: string;
  signal: AbortSignal;
  onLine(line: string): void;
}

const HELP =
  'or put the image on the server and name it as oci:/path, oci-archive:/path or docker-archive:/path';

/**
 * Copies an image from its registry into an OCI layout, by skopeo.
 * @returns the directory of the layout
 * @throws {BuildError} saying what to do when that is not possible
 */
export async function pullImage(options: PullOptions): Promise<string> {
  const { reference, registry, credentials, draft, signal } = options;
  const auth = path.join(draft, 'auth.json');
  // Always a file of its own: what the server's operator is logged in to is not for builds.
  const content = credentials === undefined ? JSON.stringify({ auths: {} }) : authFile(registry, credentials);
  await writeFile(auth, content, { mode: 0o600 });
  const layout = path.join(draft, 'layout');
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const args = ['copy', '--override-os', 'linux', '--override-arch', architecture, '--authfile', auth];
  const child = spawn('skopeo', [...args, `docker://${reference}`, `oci:${layout}:latest`], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH ?? '', HOME: draft, ...proxySettings() },
    signal,
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2_000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).catch((error: NodeJS.ErrnoException) => {
    signal.throwIfAborted();
    if (error.code === 'ENOENT')
      throw new BuildError(
        `images are pulled by skopeo, which this server does not have: install it (apt-get install skopeo), ${HELP}`,
      );
    throw error;
  });
  signal.throwIfAborted();
  if (code === 0) return layout;
  const last = complaint.trim().split('\n').at(-1) ?? '';
  options.onLine(last);
  throw new BuildError(
    `the image '${reference}' cannot be pulled: ${last.slice(0, 400) || `skopeo ended with ${code}`}; check its name and credentials and that the server reaches ${registry}, ${HELP}`,
  );
}

function proxySettings(): Record<string, string> {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
