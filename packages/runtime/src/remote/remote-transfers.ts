import { Readable } from 'node:stream';
import { DriverError } from '../contract/errors.js';
import type { Machine, StoredObject, Transfers } from '../contract/transfers.js';
import type * as wire from '../gen/driver/driver_pb.js';
import { requireObject } from '../transfer/object-id.js';
import type { RemoteCalls } from './remote-calls.js';
import { uploadOf } from './upload.js';

/** The stored objects of a driver in another process. */
export function remoteTransfers(calls: RemoteCalls, machine: Machine): Transfers {
  return {
    machine,
    async has(object) {
      return (await calls.run((client) => client.hasObject({ object }))).here;
    },
    async describe(object) {
      const found = await calls.run((client) => client.describeObject({ object }));
      return {
        ...object,
        sizeBytes: found.sizeBytes,
        needs: found.needs.map(requireObject),
        memory: found.memory,
        machine: machineFromWire(found.machine),
      };
    },
    async export(object: StoredObject, { offset = 0 } = {}) {
      const parts = calls.stream((client) => client.exportObject({ object, offset }));
      // An object that cannot be exported is known before the first bytes.
      const first = await parts.next();
      return Readable.from(bytesOf(first, parts), { objectMode: false });
    },
    async import(object, archive, { maxBytes, signal } = {}) {
      await calls.cancellable(signal, (client, callId) =>
        client.importObject(
          uploadOf({ callId, object, ...(maxBytes === undefined ? {} : { maxBytes }) }, archive),
        ),
      );
    },
  };
}

export function machineFromWire(machine: wire.Machine | undefined): Machine {
  if (machine === undefined) throw new DriverError('unreachable', 'The sandbox runtime names no machine.');
  const { arch, kernel, cpuFeatures } = machine;
  return { arch, kernel, cpuFeatures };
}

type Parts = AsyncGenerator<wire.ExportObjectResponse>;

async function* bytesOf(
  first: IteratorResult<wire.ExportObjectResponse>,
  parts: Parts,
): AsyncGenerator<Uint8Array> {
  try {
    for (let part = first; part.done !== true; part = await parts.next()) yield part.value.data;
  } finally {
    // A reader that stops early ends the call.
    await parts.return(undefined);
  }
}
