import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, posix } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { Volume, VolumeEntry } from '@svc/sdk';
import type { Command } from 'commander';
import type { Cli } from '../cli/cli.js';
import { deleteNamed } from '../cli/delete-named.js';
import { act, leaf } from '../cli/leaf.js';
import { CliError, UsageError } from '../errors/cli-error.js';
import { localTarget, receiveFile } from '../local/receive-file.js';
import { formatAge, formatBytes } from '../output/format.js';
import { startProgress, transferText } from '../output/progress.js';
import { fileMode, wholeNumber } from '../parse/number.js';

export function addVolumeCommands(volume: Command): void {
  addCreate(volume);
  addList(volume);
  addInfo(volume);
  addLs(volume);
  addPut(volume);
  addGet(volume);
  addMkdir(volume);
  addRm(volume);
  addChmod(volume);
  addDelete(volume);
}

const id = (name: string) => wholeNumber(name, 0, 4_294_967_294);

function addChmod(volume: Command): void {
  leaf(volume, 'chmod <volume> <path> [mode]', 'change mode and owner of a file or directory of a volume')
    .option('--uid <id>', 'its owner', id('--uid'))
    .option('--gid <id>', 'its group', id('--gid'))
    .action(
      act(
        async (
          cli,
          nameOrId: string,
          path: string,
          octal: string | undefined,
          { uid, gid }: { uid?: number; gid?: number },
        ) => {
          const mode = octal === undefined ? undefined : fileMode(octal);
          if (mode === undefined && uid === undefined && gid === undefined)
            throw new UsageError('No change is given.', 'Give a mode such as 640, --uid or --gid.');
          const { signal } = cli;
          const found = await findVolume(cli, nameOrId);
          const entry = await found.update(path, { mode, uid, gid }, { signal });
          cli.out.result(
            entry,
            () => `${entry.mode.toString(8).padStart(4, '0')} ${entry.uid}:${entry.gid} ${entry.path}\n`,
          );
        },
      ),
    );
}

function addCreate(volume: Command): void {
  leaf(volume, 'create <name>', 'create an empty volume; prints its id').action(
    act(async (cli, name: string) => {
      const client = await cli.client();
      const { volumeId } = await client.volumes.create(name, { signal: cli.signal });
      cli.out.result({ volumeId, name }, () => `${volumeId}\n`);
      cli.out.note(`Mount it: svc sandbox create --volume ${name}:/mnt/${name}`);
    }),
  );
}

function addDelete(volume: Command): void {
  leaf(volume, 'delete <volumes...>', 'delete volumes, by name or id, with their content').action(
    act(async (cli, names: string[]) => {
      const client = await cli.client({ destroys: true });
      const { signal } = cli;
      const volumes = await client.volumes.list({ signal });
      await deleteNamed(cli, 'volume', names, async (nameOrId) => {
        const found = volumes.find(({ name, volumeId }) => name === nameOrId || volumeId === nameOrId);
        return found === undefined ? false : client.volumes.delete(found.volumeId, { signal });
      });
    }),
  );
}

/** A volume by name or id: people know names, the API takes ids. @throws {CliError} when there is none */
async function findVolume(cli: Cli, nameOrId: string, use: { destroys?: boolean } = {}): Promise<Volume> {
  const client = await cli.client(use);
  const volumes = await client.volumes.list({ signal: cli.signal });
  const found =
    volumes.find(({ name }) => name === nameOrId) ?? volumes.find(({ volumeId }) => volumeId === nameOrId);
  if (found !== undefined) return found;
  throw new CliError(`There is no volume ${nameOrId}.`, {
    code: 'volume_not_found',
    hint: '`svc volume list` shows the volumes.',
  });
}

function addGet(volume: Command): void {
  leaf(
    volume,
    'get <volume> <path> [file]',
    'copy a file of a volume to this machine, or to - for standard output',
  ).action(
    act(async (cli, nameOrId: string, path: string, file: string | undefined) => {
      const { signal } = cli;
      const found = await findVolume(cli, nameOrId);
      const source = async () =>
        Readable.fromWeb((await found.read(path, { format: 'stream', signal })) as NodeReadableStream);
      if (file === '-') return pipeline(await source(), cli.io.stdout, { end: false });
      const { sizeBytes } = await found.stat(path, { signal });
      const target = await localTarget(path, file ?? '.');
      const progress = startProgress(cli.out, path);
      let received = 0;
      const counted = async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          received += chunk.byteLength;
          progress.update(transferText(path, received, sizeBytes));
          yield chunk;
        }
      };
      try {
        await receiveFile(target, 0o666, counted(await source()));
      } finally {
        progress.done();
      }
      if (cli.out.json) cli.out.line(JSON.stringify({ path: target, bytes: received }));
      cli.out.note(`Wrote ${formatBytes(received)} to ${target}`);
    }),
  );
}

function addInfo(volume: Command): void {
  leaf(volume, 'info <volume>', 'show a volume, by name or id').action(
    act(async (cli, nameOrId: string) => {
      const { signal } = cli;
      const found = await findVolume(cli, nameOrId);
      const root = await found.stat('/', { signal });
      const { volumeId, name } = found;
      cli.out.fields(
        { volumeId, name, root },
        { Volume: name, Id: volumeId, Changed: formatAge(root.modifiedAt, Date.now()) },
      );
    }),
  );
}

function addList(volume: Command): void {
  leaf(volume, 'list', 'list volumes')
    .option('-q, --quiet', 'print only the names')
    .action(act((cli, { quiet }: { quiet?: boolean }) => listVolumes(cli, quiet)));
}

/** Shows the volumes that there are. */
async function listVolumes(cli: Cli, quiet?: boolean): Promise<void> {
  const client = await cli.client();
  const volumes = await client.volumes.list({ signal: cli.signal });
  cli.out.table(
    volumes.map(({ volumeId, name }) => ({ volumeId, name })),
    [
      { head: 'NAME', value: ({ name }) => name },
      { head: 'ID', value: ({ volumeId }) => volumeId },
    ],
    'No volumes. `svc volume create NAME` makes one.',
    quiet ? ({ name }) => name : undefined,
  );
}

function addLs(volume: Command): void {
  leaf(volume, 'ls [volume] [path]', 'list the files of a volume; without one, list the volumes')
    .option('--depth <levels>', 'levels below the directory', wholeNumber('--depth', 1, 10), 1)
    .action(
      act(async (cli, nameOrId: string | undefined, path: string | undefined, flags: { depth: number }) => {
        if (nameOrId === undefined) return listVolumes(cli);
        const { depth } = flags;
        const { signal } = cli;
        const found = await findVolume(cli, nameOrId);
        const entries = await found.list(path ?? '/', { depth, signal });
        const now = Date.now();
        cli.out.table(
          entries,
          [
            { head: 'MODE', value: ({ mode }) => mode.toString(8).padStart(4, '0') },
            { head: 'OWNER', value: ({ uid, gid }) => `${uid}:${gid}` },
            {
              head: 'SIZE',
              value: ({ type, sizeBytes }) => (type === 'file' ? formatBytes(sizeBytes) : undefined),
              align: 'right',
            },
            { head: 'CHANGED', value: ({ modifiedAt }) => formatAge(modifiedAt, now) },
            { head: 'PATH', value: shownPath },
          ],
          'Nothing is in it.',
        );
      }),
    );
}

function shownPath({ path, type, target }: VolumeEntry): string {
  if (type === 'directory') return `${path}/`;
  return target === undefined ? path : `${path} -> ${target}`;
}

function addMkdir(volume: Command): void {
  leaf(volume, 'mkdir <volume> <path>', 'create a directory in a volume')
    .option('-p, --parents', 'also create missing parents; no error when it exists')
    .option('--mode <octal>', 'mode of the directory, such as 750', fileMode)
    .action(
      act(async (cli, nameOrId: string, path: string, flags: { parents?: boolean; mode?: number }) => {
        const { signal } = cli;
        const found = await findVolume(cli, nameOrId);
        const { mode, parents: force } = flags;
        const entry = await found.makeDir(path, { mode, force, signal });
        cli.out.result(entry, () => `Made ${entry.path}/\n`);
      }),
    );
}

function addPut(volume: Command): void {
  leaf(
    volume,
    'put <volume> <file> [path]',
    'copy a file of this machine, or - for standard input, into a volume',
  ).action(
    act(async (cli, nameOrId: string, file: string, path: string | undefined) => {
      const total = file === '-' ? undefined : await sizeOf(file);
      const target = targetPath(path, file);
      const { signal } = cli;
      const found = await findVolume(cli, nameOrId);
      const progress = startProgress(cli.out, file);
      let sent = 0;
      const counted = async function* () {
        for await (const chunk of file === '-' ? cli.io.stdin : createReadStream(file)) {
          sent += (chunk as Uint8Array).byteLength;
          progress.update(transferText(file, sent, total));
          yield chunk as Uint8Array;
        }
      };
      try {
        const source = Readable.toWeb(
          Readable.from(counted(), { objectMode: false }),
        ) as ReadableStream<Uint8Array>;
        const entry = await found.write(target, source, { force: true, signal });
        if (cli.out.json) cli.out.line(JSON.stringify(entry));
      } finally {
        progress.done();
      }
      cli.out.note(`Wrote ${formatBytes(sent)} to ${target}`);
    }),
  );
}

/** Where a file goes: a path that ends with a slash, or none, takes the file's own name. Pure. */
export function targetPath(path: string | undefined, file: string): string {
  if (path !== undefined && !path.endsWith('/')) return posix.join('/', path);
  if (file === '-')
    throw new CliError('Standard input has no name: give the path in the volume.', {
      exitCode: 2,
      code: 'usage',
    });
  return posix.join('/', path ?? '', basename(file));
}

async function sizeOf(file: string): Promise<number> {
  const facts = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      `${file} cannot be read: ${error.code === 'ENOENT' ? 'it does not exist' : error.message}.`,
    );
  });
  if (facts.isDirectory())
    throw new CliError(`${file} is a directory; put copies one file.`, {
      hint: 'Mount the volume and copy into it: svc sandbox cp DIR ID:/mnt/...',
    });
  return facts.size;
}

function addRm(volume: Command): void {
  leaf(
    volume,
    'rm <volume> <paths...>',
    'remove files of a volume, and directories with their content',
  ).action(
    act(async (cli, nameOrId: string, paths: string[]) => {
      const { signal } = cli;
      const found = await findVolume(cli, nameOrId, { destroys: true });
      await deleteNamed(cli, 'file', paths, (path) => found.remove(path, { signal }));
    }),
  );
}
