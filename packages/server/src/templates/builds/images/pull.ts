import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { components } from '@svc/platform';
import { anyOf } from '#support/any-of';
import { openGuardProxy } from '../../../network/outbound/guard-proxy.js';
import { isPublicAddress } from '../../../network/outbound/public-lookup.js';
import { resolveHost } from '../../../network/outbound/resolve-host.js';
import { guardedCommand, PROGRAM_MISSING } from '../../../network/outbound/run-guarded.js';
import { BuildError, OWN_ARCHITECTURE } from '../shared/build.js';
import { authFile } from './registry-auth.js';
import { writeToolSettings } from './tool-settings.js';
import { watchSize } from './watch-size.js';

export interface PullOptions {
  reference: string;
  registry: string;
  credentials: components['schemas']['FromImageRegistry'] | undefined;
  /** Allows the registry, and the hosts that it redirects to, on this machine and on private networks. */
  allowPrivateAddresses: boolean;
  /** An empty directory of this build; the caller removes it. */
  draft: string;
  /** Directory of the server that is hidden from the tool, except `draft` in it. */
  hide?: string;
  /** Most that the image may be as it comes, bytes. */
  maxBytes: number;
  signal: AbortSignal;
  onLine(line: string): void;
}

const HELP =
  'or put the image on the server and name it as oci:/path, oci-archive:/path or docker-archive:/path';

/**
 * Copies an image from its registry into an OCI layout, by skopeo. Unless private addresses are allowed, skopeo runs
 * without a network of its own: a proxy that connects to public addresses only is all it reaches, so that neither the
 * name of a registry nor a redirect nor the address of its token service leads to this machine or its networks. Where
 * the server itself goes through a proxy, that proxy decides: only names are checked then.
 * @returns the directory of the layout
 * @throws {BuildError} saying what to do when that is not possible
 */
export async function pullImage(options: PullOptions): Promise<string> {
  const { reference, registry, credentials, draft } = options;
  const auth = path.join(draft, 'auth.json');
  // Always a separate file: builds must not use the operator's own registry logins.
  const content = credentials === undefined ? JSON.stringify({ auths: {} }) : authFile(registry, credentials);
  await writeFile(auth, content, { mode: 0o600 });
  const layout = path.join(draft, 'layout');
  // Everything that it writes is in the draft, and counts.
  const settings = await writeToolSettings(draft, registry, options.onLine);
  const args = ['--override-os', 'linux', '--override-arch', OWN_ARCHITECTURE, '--authfile', auth];
  const words = [...settings.words, ...args, `docker://${reference}`, `oci:${layout}:latest`];
  const proxies = proxySettings();
  const guarded = !options.allowPrivateAddresses && Object.keys(proxies).length === 0;
  if (!options.allowPrivateAddresses && !guarded) await assertPublicRegistry(registry);
  const socket = path.join(draft, 'guard.sock');
  const guard = guarded ? await openGuardProxy(socket) : undefined;
  try {
    await runTool(
      guarded ? guardedCommand({ socket, ...hiding(options) }, 'skopeo', words) : ['skopeo', words],
      options,
      {
        env: { ...settings.env, ...proxies },
        refusedHost: () => guard?.refusedHost(),
      },
    );
    return layout;
  } finally {
    await guard?.close();
  }
}

/** This program parses untrusted input: it must not see the server's own files. */
function hiding({ hide, draft }: PullOptions): { hide?: { directory: string; but: string } } {
  return hide === undefined ? {} : { hide: { directory: hide, but: draft } };
}

async function runTool(
  [program, words]: [string, string[]],
  { reference, registry, draft, maxBytes, signal, onLine }: PullOptions,
  { env, refusedHost }: { env: Record<string, string>; refusedHost(): string | undefined },
): Promise<void> {
  const tooLarge = new AbortController();
  const child = spawn(program, words, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH ?? '', ...env },
    signal: anyOf([signal, tooLarge.signal]),
  });
  const stopWatching = watchSize(draft, maxBytes, (reason) => tooLarge.abort(reason));
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-2_000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).catch((error: NodeJS.ErrnoException) => {
    stopWatching();
    signal.throwIfAborted();
    tooLarge.signal.throwIfAborted();
    if ((error.code === 'ENOENT' || error.code === 'EACCES') && program === 'skopeo') return PROGRAM_MISSING;
    throw error;
  });
  stopWatching();
  signal.throwIfAborted();
  tooLarge.signal.throwIfAborted();
  if (code === 0) return;
  if (code === PROGRAM_MISSING)
    throw new BuildError(
      `images are pulled by skopeo, which this server does not have: install it (apt-get install skopeo), ${HELP}`,
    );
  const refused = refusedHost();
  if (refused !== undefined) throw notPublic(refused);
  const last = stderr.trim().split('\n').at(-1) ?? '';
  onLine(last);
  throw new BuildError(
    `the image '${reference}' cannot be pulled: ${last.slice(0, 400) || `skopeo ended with ${code}`}; check its name and credentials and that the server reaches ${registry}, ${HELP}`,
  );
}

/** @throws {BuildError} when the name of a registry stands for an address that is not public */
async function assertPublicRegistry(registry: string): Promise<void> {
  const host = registry.replace(/:\d+$/, '');
  // Only the proxy can resolve a name without addresses, so the proxy decides.
  const [first] = await resolveHost(host).catch(() => []);
  if (first !== undefined && !isPublicAddress(first.address)) throw notPublic(registry);
}

function notPublic(host: string): BuildError {
  return new BuildError(
    `the registry leads to '${host.slice(0, 200)}', which is no public address: this server pulls from public ones only, unless its operator allows private ones (tuning.builds.allowPrivateRegistries)`,
  );
}

function proxySettings(): Record<string, string> {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
