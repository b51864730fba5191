import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import { bringFiles } from '../files/bring-files.js';
import { planCopy } from '../files/copy-plan.js';
import { listArchive, repackArchive } from '../files/repack.js';
import type { BuildState } from '../shared/build.js';
import { BuildError } from '../shared/build.js';
import { expandVariables, readText, variablesOf } from './env.js';
import type { StepReader } from './step.js';
import { homePath } from './workdir.js';

/**
 * Puts unpacked files where they belong. Directories that exist keep their owner and mode, files are replaced.
 * `$1` directory with `archive.tar`, `$2` target, `$3` file or tree, `$4` name of the one file, `$5` owner or empty,
 * `$6` user whose home relative targets start from, or empty, `$7` working directory or empty, `$8` mode of files and
 * `$9` of directories, or empty.
 */
const PLACE_FILES = `set -eu
work=$1 target=$2 kind=$3 name=$4 owner=$5 user=$6 base=$7 mode=$8 directory_mode=$9
case "$work" in /*) ;; *) work=$HOME/$work;; esac
home=$HOME
if [ -n "$user" ]; then home=$(sed -n "s/^$user:[^:]*:[^:]*:[^:]*:[^:]*:\\([^:]*\\):.*/\\1/p" /etc/passwd); home=\${home:-/}; fi
[ -n "$base" ] || base=$home
case "$base" in /*) ;; *) base=$HOME/$base;; esac
case "$target" in '~') target=$home/;; '~/'*) target=$home/\${target#??};; /*) ;; *) target=$base/$target;; esac
mkdir -p "$work/files"
tar -xpf "$work/archive.tar" -C "$work/files"
rm -f "$work/archive.tar"
[ -z "$owner" ] || chown -hR "$owner" "$work/files"
if [ -n "$mode" ]; then
  find "$work/files" -type f -exec chmod "$mode" {} +
  find "$work/files" -type d -exec chmod "$directory_mode" {} +
fi
into=no
case "$target" in */|*/.) into=yes;; esac
if [ -d "$target" ] || [ "$kind" = tree ]; then into=yes; fi
while [ "$target" != "\${target%/}" ]; do target=\${target%/}; done
if [ $into = yes ]; then directory=\${target:-/}; else directory=$(dirname "$target"); fi
missing= up=$directory
while [ ! -e "$up" ]; do missing=$up; up=$(dirname "$up"); done
mkdir -p "$directory"
if [ -n "$missing" ] && [ -n "$owner" ]; then chown -R "$owner" "$missing"; fi
if [ "$kind" = file ]; then
  if [ $into = yes ]; then target=$target/$name; fi
  if [ -d "$target" ]; then echo "$target is a directory" >&2; exit 1; fi
  rm -f "$target"
  cp -a "$work/files/$name" "$target"
else
  cd "$work/files"
  find . -type d -exec sh -c 'target=$1; shift
for path; do if [ -d "$target/$path" ]; then
  chown "$(stat -c %u:%g "$target/$path/.")" "$path"; chmod "$(stat -c %a "$target/$path/.")" "$path"
fi; done' sh "$target" {} +
  if cp --version >/dev/null 2>&1; then cp -a --remove-destination . "$target/"; else cp -af . "$target/"; fi
fi
cd /
rm -rf "$work"`;

/** `COPY source target [owner] [permissions]`, and `ADD` likewise: places uploaded files. */
export const readCopy: StepReader = ({ type, args = [], filesHash }, limits) => {
  const [source = '', target = '', owner = '', permissions = ''] = args;
  const what = type.toUpperCase();
  if (source === '' || target === '') throw new BuildError(`${what} needs a source and a target`);
  if (filesHash === undefined || !/^[0-9a-f]{64}$/.test(filesHash))
    throw new BuildError(`${what} needs filesHash, the hash under which its files were uploaded`);
  if (permissions !== '' && !/^[0-7]{3,4}$/.test(permissions))
    throw new BuildError(`${what}: permissions are 3 or 4 octal digits, not '${permissions}'`);
  const targetText = readText(target, what);
  const ownerText = readText(owner, what);
  return {
    title: `${what} ${source} ${target}`,
    work: async (state, { context, templateId, machine, signal }) => {
      const variables = variablesOf(state);
      const wanted = expandVariables(targetText, variables, what);
      const ownedBy = expandVariables(ownerText, variables, what);
      if (wanted === '') throw new BuildError(`${what}: the target '${target}' comes to nothing`);
      if (owner !== '' && !/^[A-Za-z0-9_.-]+(:[A-Za-z0-9_.-]+)?$/.test(ownedBy))
        throw new BuildError(`${what}: '${ownedBy}' is not an owner: user or user:group`);
      const archive = await bringFiles(context, { templateId, hash: filesHash, signal });
      const { archives } = context.config;
      const plan = planCopy(source, await listArchive(archive, archives));
      const work = limits.rootfs ? `/.build-${context.ids.hex(6)}` : `.build-${context.ids.hex(6)}`;
      await uploadTar(machine, `${work}/archive.tar`, repackArchive(archive, plan, archives));
      await machine.script(what, PLACE_FILES, [
        work,
        limits.rootfs ? wanted : targetInHome(wanted, state),
        plan.kind,
        plan.name,
        limits.rootfs ? ownerFor(ownedBy, state) : '',
        limits.rootfs ? state.user : '',
        state.workdir ?? '',
        permissions,
        permissions === '' ? '' : directoryMode(permissions),
      ]);
      return 'changed';
    },
  };
};

async function uploadTar(
  machine: { upload(path: string, content: Readable): Promise<void> },
  path: string,
  tar: Readable,
): Promise<void> {
  // The reason of a failure stands in the archive's stream, not in the request that it ends.
  let reason: unknown;
  tar.once('error', (error) => {
    reason = error;
  });
  await machine.upload(path, tar).catch((error: unknown) => {
    throw reason instanceof BuildError ? reason : error;
  });
}

function ownerFor(owner: string, state: BuildState): string {
  if (owner === '') return `${state.user}:`;
  return owner.includes(':') ? owner : `${owner}:`;
}

function targetInHome(wanted: string, state: BuildState): string {
  const absolute = wanted.startsWith('/') || wanted.startsWith('~');
  const path = homePath(absolute ? wanted : posix.join(state.workdir ?? '', wanted), 'COPY');
  return path === '' ? '~' : `~/${path}${wanted.endsWith('/') ? '/' : ''}`;
}

/** Adds the right to enter a directory to every right to read it. */
function directoryMode(permissions: string): string {
  const mode = Number.parseInt(permissions, 8);
  return (mode | ((mode & 0o444) >> 2)).toString(8).padStart(3, '0');
}
