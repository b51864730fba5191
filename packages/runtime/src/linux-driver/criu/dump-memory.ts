import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { saysDiskFull } from '#support/disk-full';
import { DriverError } from '../../contract/errors.js';
import { readText } from '../../shared/read-text.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import type { OciConfig } from '../oci/oci-config.js';
import type { InstanceEntry } from '../state/records.js';
import { storeIsFull } from '../store/storage-full.js';
import { criuCommand } from './criu-command.js';
import { mountsToName } from './external-mounts.js';
import { explainDumpFailure, ranOutOfTime } from './undumpable.js';

/** A dump writes about 1 GiB per second; what takes longer than this hangs. */
const DUMP_TIMEOUT_S = 60;
/** The time for CRIU to seize all processes. Its own limit of 10 s is exceeded on a very busy host. */
const SEIZE_TIMEOUT_S = 45;
/** Where the OCI runtime looks for the standard streams when it restores. */
const DESCRIPTORS = 'descriptors.json';
const STANDARD_STREAMS = ['/dev/null', '/dev/null', '/dev/null'];
/**
 * Writes the memory of an instance to the directory `images` and copies its file system to `<draft>/sv`, of the same moment. CRIU is
 * called here as the OCI runtime would, with hooks, which it does not pass on. The instance stays frozen.
 * @param freeze quiesces the instance.
 * @throws {DriverError} `undumpable`, `timeout`, `storage_full`, or what `freeze` throws.
 */
export async function dumpMemory(
  host: LinuxHost,
  keeper: NamespaceKeeper,
  entry: InstanceEntry,
  options: { draft: string; images: string; freeze: () => Promise<void> },
): Promise<void> {
  const { paths, store } = host;
  const work = join(paths.store, options.draft, 'wk');
  const { images } = options;
  const bundle = join(paths.store, 'i', entry.name);
  writeFileSync(keeper.view(join(images, DESCRIPTORS)), JSON.stringify(STANDARD_STREAMS), { mode: 0o600 });
  const config = JSON.parse(readFileSync(keeper.view(join(bundle, 'config.json')), 'utf8')) as OciConfig;
  const dump = criuCommand(host, entry, {
    action: 'dump',
    // One of an earlier version has it somewhere else.
    root: config.root.path,
    images,
    work,
    external: mountsToName(entry.pid!, config),
    timeoutS: DUMP_TIMEOUT_S,
    more: [
      ...['--tree', `${entry.pid}`, '--leave-running'],
      ...['--freeze-cgroup', host.cgroups.freezerOf(entry.name)],
      ...['--timeout', `${SEIZE_TIMEOUT_S}`],
    ],
  });
  let freezing: Promise<void> | undefined;
  let notFrozen: unknown;
  const call = store.call({
    name: 'checkpoint_dump',
    variables: { COPY_FROM: `i/${entry.name}/sv`, COPY_TO: `${options.draft}/sv`, WORK: work },
    arguments: dump,
  });
  const result = await keeper.script(call, {
    timeoutMs: (DUMP_TIMEOUT_S + 60) * 1000,
    onAsk(answer) {
      freezing ??= options.freeze().then(
        () => answer('go'),
        (error: unknown) => {
          notFrozen = error;
          answer('no');
        },
      );
    },
  });
  await freezing;
  if (notFrozen !== undefined) throw notFrozen;
  if (result.code === 0) return;
  const log = readText(keeper.view(join(work, 'dump.log'))) ?? '';
  const lines = log.split('\n').filter((line) => /Error|Warn/.test(line));
  const detail = `${lines.slice(-12).join('\n')}\n${result.stderr}`.trim();
  host.log('warn', 'a checkpoint failed', { instance: entry.name, detail });
  if (saysDiskFull(detail) || store.isFull()) throw storeIsFull({ detail });
  if (result.code === undefined || result.code === 137 || ranOutOfTime(log)) {
    throw new DriverError('timeout', 'Storing the memory of the sandbox took too long.', { detail });
  }
  throw new DriverError(
    'undumpable',
    `The memory of the sandbox cannot be stored: ${explainDumpFailure(log)}.`,
    { detail },
  );
}
