import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { saysDiskFull } from '#support/disk-full';
import { quote } from '#support/quote';
import { DriverError } from '../../contract/errors.js';
import { readText } from '../../shared/read-text.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import type { OciConfig } from '../oci/oci-config.js';
import type { InstanceEntry } from '../state/records.js';
import { criuCommand } from './criu-command.js';
import { mountsToName } from './external-mounts.js';
import { explainDumpFailure } from './undumpable.js';

/** A dump writes about 1 GiB per second; what takes longer than this hangs. */
const DUMP_TIMEOUT_S = 60;
/** Where the OCI runtime looks for the standard streams when it restores. */
const DESCRIPTORS = 'descriptors.json';
const STANDARD_STREAMS = ['/dev/null', '/dev/null', '/dev/null'];
/** What the hook prints when everything is ready and only the standstill is missing. */
const READY = 'ready';

/**
 * CRIU calls this at each stage. Before it touches a process it has the driver freeze them: by then all the programs that
 * a dump needs have started, and the source need not wait for that. The file system is copied at the end and not
 * afterwards: only until then do names exist for files that are open and have lost theirs.
 */
const hook = (directory: string, work: string, copy: string) => `#!/bin/sh
cd ${quote(directory)} || exit
case $CRTOOLS_SCRIPT_ACTION in
pre-dump) echo ${READY} > ${work}/ask; read -r answer < ${work}/answer; [ "$answer" = go ];;
post-dump) ${copy};;
esac
`;

/** Runs CRIU and carries the question of its hook out and the answer in; ends with CRIU's own exit code. */
const script = (directory: string, work: string, dump: string) => `
cd ${quote(directory)} || exit 9
mkfifo ${work}/ask ${work}/answer && exec 3<>${work}/ask 4<>${work}/answer || exit 9
{ ${dump} </dev/null >/dev/null 2>&1; echo $? >&3; } &
while read -r word <&3; do
  case $word in
  ${READY}) echo ${READY}; read -r answer; echo "$answer" >&4;;
  *) exit "$word";;
  esac
done
`;

/**
 * Writes the memory of an instance to `<draft>/img` and copies its file system to `<draft>/sv`, of the same moment. CRIU is
 * called here as the OCI runtime would, with hooks, which it does not pass on. The instance stays frozen.
 * @param freeze brings the instance to a standstill.
 * @throws {DriverError} `undumpable`, `timeout`, `storage_full`, or what `freeze` throws.
 */
export async function dumpMemory(
  host: LinuxHost,
  keeper: NamespaceKeeper,
  entry: InstanceEntry,
  options: { draft: string; copy: string; freeze: () => Promise<void> },
): Promise<void> {
  const { paths, store } = host;
  const here = `${options.draft}/wk`;
  const work = join(paths.store, here);
  const images = join(paths.store, options.draft, 'img');
  const bundle = join(paths.store, 'i', entry.name);
  writeFileSync(keeper.view(join(images, DESCRIPTORS)), JSON.stringify(STANDARD_STREAMS), { mode: 0o600 });
  writeFileSync(keeper.view(join(work, 'hook')), hook(paths.store, here, options.copy), { mode: 0o700 });
  const config = JSON.parse(readFileSync(keeper.view(join(bundle, 'config.json')), 'utf8')) as OciConfig;
  const dump = criuCommand(host, entry, {
    action: 'dump',
    images,
    work,
    external: mountsToName(entry.pid!, config),
    timeoutS: DUMP_TIMEOUT_S,
    more: [
      ...['--tree', `${entry.pid}`, '--leave-running', '--action-script', join(work, 'hook')],
      ...['--freeze-cgroup', host.cgroups.freezerOf(entry.name)],
    ],
  });
  let freezing: Promise<void> | undefined;
  let notFrozen: unknown;
  const result = await keeper.script(script(paths.store, here, dump), {
    timeoutMs: (DUMP_TIMEOUT_S + 60) * 1000,
    converse(stdout, answer) {
      if (!stdout.includes(READY)) return;
      freezing ??= options.freeze().then(
        () => answer('go\n'),
        (error: unknown) => {
          notFrozen = error;
          answer('no\n');
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
  if (saysDiskFull(detail) || store.isFull(keeper)) {
    throw new DriverError('storage_full', 'The storage of the sandboxes is full.', { detail });
  }
  if (result.code === undefined || result.code === 137) {
    throw new DriverError('timeout', 'Storing the memory of the sandbox took too long.', { detail });
  }
  throw new DriverError(
    'undumpable',
    `The memory of the sandbox cannot be stored: ${explainDumpFailure(log)}.`,
    { detail },
  );
}
