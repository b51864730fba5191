import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { ObjectKind } from '../../contract/transfers.js';
import { skipBytes, writeEnvelope } from '../../transfer/envelope.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { ObjectHead } from './object-head.js';
import { startPacking } from './run-tar.js';
import { exportCommand } from './tar-commands.js';

/** The parts of an object that are sent; the empty part beside a layer is made anew. */
const PARTS: Record<ObjectKind, string[]> = {
  agent: ['.'],
  base: ['base.json', 'root'],
  layer: ['root'],
  checkpoint: ['img', 'sv'],
};

/** The bytes of an object from an offset on. Ending the stream early ends the program behind it. */
export async function exportObject(
  host: LinuxHost,
  head: ObjectHead,
  { key, offset }: { key: Buffer; offset: number },
): Promise<Readable> {
  const keeper = await host.up();
  const command = exportCommand(directoryOf(host, head), PARTS[head.kind]);
  const tar = tarOf(head.kind === 'base' ? command : keeper.enter(command));
  return Readable.from(skipBytes(writeEnvelope(head, tar, key), offset), { objectMode: false });
}

function directoryOf({ bases, paths }: LinuxHost, { kind, id }: ObjectHead): string {
  switch (kind) {
    case 'agent':
      return join(paths.store, 'agents', id);
    case 'base':
      return join(bases.treeOf(id)!, '..');
    case 'layer':
      return join(paths.store, 'l', id);
    case 'checkpoint':
      return join(paths.store, 'c', id);
  }
}

async function* tarOf(command: string[]): AsyncGenerator<Buffer> {
  const { tar, done } = startPacking(command);
  try {
    yield* tar;
    await done;
  } finally {
    tar.destroy();
  }
}
