import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Directories of a host with a directory for each registry, which holds the authorities that sign its certificate. */
const AUTHORITIES = ['/etc/containers/certs.d', '/etc/docker/certs.d'];

export interface ToolSettings {
  env: Record<string, string>;
  /** Words of the command line before all others, and of its command `copy`. */
  words: string[];
}

/**
 * Writes all that skopeo is to know into its home. What the host's users of such tools have set, signed, stored and
 * logged in to is no matter of builds, and may be broken or not for this server to read. Only the authorities that sign
 * for the registry come from the host.
 */
export async function writeToolSettings(
  home: string,
  registry: string,
  onLine: (line: string) => void,
): Promise<ToolSettings> {
  const settings = path.join(home, '.config', 'containers');
  // A file in the home goes before the host's; newer versions add the host's to it, but not where a variable names it.
  const registries = path.join(settings, 'registries.conf');
  const signatures = path.join(settings, 'registries.d');
  const authorities = path.join(home, 'authorities');
  await mkdir(signatures, { recursive: true });
  await mkdir(authorities, { recursive: true });
  await writeFile(registries, '');
  await copyAuthorities(registry, authorities, onLine);
  return {
    env: {
      HOME: home,
      TMPDIR: home,
      CONTAINERS_REGISTRIES_CONF: registries,
      // Root, here or in a namespace of its own, would keep what it knows of blobs with the host's images.
      _CONTAINERS_ROOTLESS_UID: '65534',
    },
    words: [
      ...['--insecure-policy', '--registries.d', signatures, '--tmpdir', home],
      ...['copy', '--remove-signatures', '--src-cert-dir', authorities],
    ],
  };
}

/** Leaves out the certificates and keys by which users of this host log in. */
async function copyAuthorities(
  registry: string,
  target: string,
  onLine: (line: string) => void,
): Promise<void> {
  for (const directory of AUTHORITIES) {
    const source = path.join(directory, registry);
    try {
      for (const name of await readdir(source))
        if (name.endsWith('.crt'))
          await writeFile(path.join(target, name), await readFile(path.join(source, name)));
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EACCES')
        onLine(`this server may not read the authorities of ${registry} in ${directory}`);
    }
  }
}
