import { baseDirectory, baseRecipe, buildBase, findBase } from '@svc/runtime/host';
import type { ServerOptions } from '@svc/server';
import type { Cli } from '../../cli/cli.js';
import { chooseDriver } from './choose-driver.js';
import type { UpFlags } from './up-flags.js';

/**
 * Builds the root file system of the template `base` at the first start of a server that needs it, where this process may. A failure
 * is reported and keeps no server from starting: the template `host` and images work without.
 */
export async function prepareBase(cli: Cli, flags: UpFlags, options: ServerOptions): Promise<void> {
  if (process.getuid?.() !== 0 || options.baseRoot === 'host') return;
  if (findBase(baseDirectory({}), await baseRecipe()) !== undefined) return;
  const configured = flags.driver ?? (typeof options.driver === 'string' ? options.driver : undefined);
  const { name } = await chooseDriver({
    driver: configured,
    isolation: options.isolation,
    ociRuntime: options.ociRuntime,
    dataDir: options.dataDir,
  });
  if (name !== 'linux') return;
  cli.out.note(
    'The template base is built once on this machine, which takes about a minute. `--base-root host` does without.',
  );
  try {
    await buildBase({ log: (line) => cli.out.note(line), signal: cli.signal });
  } catch (error) {
    cli.signal.throwIfAborted();
    cli.out.note((error as Error).message);
    cli.out.note(
      "Until it is built, use the template host, which shows this machine's /usr, or an image (fromImage).",
    );
  }
}
