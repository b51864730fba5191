import { Readable } from 'node:stream';
import { DriverError } from '../contract/errors.js';
import type { VolumeContent, Volumes } from '../contract/volumes.js';
import type { ReadFileResponse } from '../gen/driver/driver_pb.js';
import type { RemoteCalls } from './remote-calls.js';
import { uploadOf } from './upload.js';
import { entryFromWire, ownershipToWire } from './wire.js';

/** The volumes of a driver in another process. */
export function remoteVolumes(calls: RemoteCalls): Volumes {
  return {
    async make(id, { limitMiB } = {}) {
      await calls.run((client) =>
        client.makeVolume({ id, ...(limitMiB === undefined ? {} : { limitMib: limitMiB }) }),
      );
    },
    async list() {
      return (await calls.run((client) => client.listVolumes({}))).ids;
    },
    async delete(id) {
      await calls.run((client) => client.deleteVolume({ id }));
    },
    async usedBytes(id) {
      return (await calls.run((client) => client.volumeUse({ id }))).bytes;
    },
    content: (id) => remoteContent(calls, id),
  };
}

/** Files of a volume that another process works on. */
export function remoteContent(calls: RemoteCalls, volumeId: string): VolumeContent {
  return {
    async stat(path) {
      return entryFromWire((await calls.run((client) => client.statEntry({ volumeId, path }))).entry);
    },
    async list(path, depth) {
      const { entries } = await calls.run((client) => client.listEntries({ volumeId, path, depth }));
      return entries.map(entryFromWire);
    },
    async change(path, change) {
      const asked = { volumeId, path, change: ownershipToWire(change) };
      return entryFromWire((await calls.run((client) => client.changeEntry(asked))).entry);
    },
    async makeDirectory(path, { force = false, ...owner }) {
      const asked = { volumeId, path, owner: ownershipToWire(owner), force };
      return entryFromWire((await calls.run((client) => client.makeDirectory(asked))).entry);
    },
    async remove(path) {
      await calls.run((client) => client.removeEntry({ volumeId, path }));
    },
    async read(path) {
      const parts = calls.stream((client) => client.readFile({ volumeId, path }));
      const first = await parts.next();
      if (first.done === true || first.value.part.case !== 'size')
        throw new DriverError('unreachable', 'The sandbox runtime gave no file.');
      return {
        sizeBytes: first.value.part.value,
        content: Readable.from(bytesOf(parts), { objectMode: false }),
      };
    },
    async write(path, body, { force = false, ...owner }) {
      const start = { volumeId, path, owner: ownershipToWire(owner), force };
      return entryFromWire((await calls.run((client) => client.writeFile(uploadOf(start, body)))).entry);
    },
  };
}

async function* bytesOf(parts: AsyncIterator<ReadFileResponse>): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const { done, value } = await parts.next();
      if (done === true) return;
      if (value.part.case === 'data') yield value.part.value;
    }
  } finally {
    // A reader that stops early ends the call.
    await parts.return?.();
  }
}
