import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { quote } from '#support/quote';
import { DriverError } from '../../contract/errors.js';
import { jailCommand } from '../../jail/jail-task.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import type { Paths } from '../state/paths.js';

const GIB = 2 ** 30;
const MIB = 2 ** 20;
/** btrfs refuses to live in less than about 110 MiB, and needs room to breathe. */
const MIN_SIZE_MIB = 512;
/** btrfs hands out room in chunks: it can be full with a little left. */
const FULL_BYTES = 64 * MIB;

/** Default size of the store: 60 % of what is free, at most 40 GiB. The file is sparse: it grows as it fills. */
export function defaultStoreSizeMiB(dataDir: string): number {
  const stats = statfsSync(dataDir);
  const free = stats.bavail * stats.bsize;
  return Math.max(MIN_SIZE_MIB, Math.floor(Math.min(free * 0.6, 40 * GIB) / MIB));
}

/** Where writable file systems, layers and checkpoints live: btrfs in a loop image, the data directory's own btrfs, or plain directories. */
export class Store {
  kind: 'btrfs' | 'plain' = 'plain';
  /** Whether a subvolume's size can be limited. */
  quota = false;
  /** Whether it is an image in a file that grows as it fills. */
  image = false;
  /** Why disk limits or fast copies are missing. */
  problem: string | undefined;
  readonly #paths: Paths;
  readonly #sizeMiB: number | undefined;
  #fsid = '';

  constructor(paths: Paths, sizeMiB?: number) {
    this.#paths = paths;
    this.#sizeMiB = sizeMiB;
  }

  /** Mounts the store inside the keeper's namespace, making it first where there is none. */
  async mount(keeper: NamespaceKeeper): Promise<void> {
    const { store, storeImage, dataDir } = this.#paths;
    const size = this.#sizeMiB ?? defaultStoreSizeMiB(dataDir);
    const result = await keeper.script(
      `
store=${quote(store)} image=${quote(storeImage)}
mkdir -p -m 700 "$store"
kind=
if mountpoint -q "$store"; then kind=btrfs
elif [ -e "$store/.plain" ]; then kind=plain
elif [ "$(stat -f -c %T "$store")" = btrfs ]; then kind=own
elif [ ${size} = 0 ]; then echo 'problem disk limits need the btrfs store, which is turned off'
elif ! command -v mkfs.btrfs >/dev/null; then echo 'problem mkfs.btrfs is missing (apt-get install btrfs-progs)'
else
  modprobe -q btrfs 2>/dev/null; modprobe -q loop 2>/dev/null
  if [ ! -e "$image" ]; then
    rm -f "$image.new"
    truncate -s ${size}M "$image.new" && mkfs.btrfs -q -f -m single -d single "$image.new" >/dev/null && mv "$image.new" "$image"
  fi
  if error=$(mount -t btrfs -o loop,noatime,nosuid,nodev,discard=async "$image" "$store" 2>&1); then kind=btrfs
  elif [ -e "$store/.used" ]; then echo "failed $error"; exit 0
  else echo "problem the store image cannot be mounted: $error"; rm -f "$image"; fi
fi
if [ "$kind" = btrfs ]; then
  btrfs quota enable "$store" >/dev/null 2>&1 && echo quota
  echo btrfs
elif [ "$kind" = own ]; then
  echo btrfs
  if btrfs qgroup show "$store" >/dev/null 2>&1; then echo quota; else echo 'problem quotas are off on the file system of the data directory (btrfs quota enable)'; fi
else
  : > "$store/.plain"; echo plain
fi
mkdir -p "$store/i" "$store/c" "$store/l" "$store/agents"
[ "$kind" = btrfs ] && echo image
echo "fsid $(btrfs filesystem show "$store" 2>/dev/null | sed -n 's/.*uuid: //p' | head -n 1)"
`,
      { timeoutMs: 60_000 },
    );
    const failed = /^failed (.*)$/m.exec(result.stdout);
    if (result.code !== 0 || failed !== null) {
      throw new DriverError('unsupported', 'The store of the sandboxes cannot be mounted.', {
        detail: failed?.[1] ?? result.stderr.trim(),
      });
    }
    this.image = /^image$/m.test(result.stdout);
    this.kind = /^btrfs$/m.test(result.stdout) ? 'btrfs' : 'plain';
    this.quota = /^quota$/m.test(result.stdout);
    this.#fsid = /^fsid (.*)$/m.exec(result.stdout)?.[1] ?? '';
    this.problem = /^problem (.*)$/m.exec(result.stdout)?.[1];
  }

  /** Shell line that makes an empty writable part at `target` (relative to the store). */
  makeEmpty(target: string): string {
    return this.kind === 'btrfs' ? `btrfs subvolume create ${target} >/dev/null` : `mkdir ${target}`;
  }

  /** Shell line that copies `source`, copy-on-write where the file system can. */
  copy(source: string, target: string): string {
    if (this.kind === 'plain') return `cp -a --reflink=auto ${source} ${target}`;
    return `btrfs subvolume snapshot ${source} ${target} >/dev/null`;
  }

  /** Shell line that limits a subvolume. */
  limit(target: string, limitMiB: number | undefined): string {
    if (!this.quota || limitMiB === undefined) return ':';
    return `btrfs qgroup limit ${limitMiB}M ${target} >/dev/null`;
  }

  /** Shell lines that remove a tree which may hold one subvolume, or be one. */
  remove(target: string): string {
    const jailed = this.removeEntries(dirname(target), [basename(target)]);
    if (this.kind === 'plain') return jailed;
    return `if [ -d ${target}/sv ]; then btrfs subvolume delete ${target}/sv >/dev/null 2>&1 || true; fi
btrfs subvolume delete ${target} >/dev/null 2>&1 || [ ! -e ${target} ] || ${jailed}`;
  }

  /** Shell line that removes what stands below a directory, in a process that sees nothing but the directory. */
  removeEntries(directory: string, paths: readonly string[]): string {
    const tree = join(this.#paths.store, directory);
    return jailCommand(tree, { kind: 'remove', paths }).map(quote).join(' ');
  }

  /** Bytes that a subvolume refers to, by its id. Undefined where the kernel does not count them. */
  usedBytes(subvolumeId: number): number | undefined {
    try {
      const path = `/sys/fs/btrfs/${this.#fsid}/qgroups/0_${subvolumeId}/referenced`;
      return Number(readFileSync(path, 'utf8').trim());
    } catch {
      return undefined;
    }
  }

  /** Size of the whole store, bytes. */
  totalBytes(keeper: NamespaceKeeper): number {
    const stats = statfsSync(keeper.view(this.#paths.store));
    return stats.blocks * stats.bsize;
  }

  /** Whether so little is left that a failed write needs no other explanation. */
  isFull(keeper: NamespaceKeeper): boolean {
    const stats = statfsSync(keeper.view(this.#paths.store));
    return stats.bavail * stats.bsize < FULL_BYTES;
  }

  list(keeper: NamespaceKeeper, folder: 'i' | 'c' | 'l' | 'v' | 'agents'): string[] {
    try {
      return readdirSync(keeper.view(`${this.#paths.store}/${folder}`));
    } catch {
      return [];
    }
  }
}
