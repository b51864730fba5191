import { DriverError } from '../contract/errors.js';
import type { StoredObject, Transfers } from '../contract/transfers.js';
import { requireObject } from '../transfer/object-id.js';
import { checkNumber } from './check.js';
import type { CallContext, DriverHandlers } from './handlers.js';
import { openUpload } from './upload.js';
import { toConnectError } from './wire.js';

const BYTES = { least: 0, most: Number.MAX_SAFE_INTEGER, whole: true } as const;

type Cancellable = <T>(
  callId: string,
  context: CallContext,
  task: (signal: AbortSignal) => Promise<T>,
) => Promise<T>;

/** The calls about stored objects that come and go. */
export function transferCalls(transfers: Transfers | undefined, cancellable: Cancellable) {
  const known = (): Transfers => {
    if (transfers === undefined)
      throw new DriverError('unsupported', 'What this driver stores cannot leave its host.');
    return transfers;
  };
  return {
    hasObject: async ({ object }) => ({ here: await known().has(asked(object)) }),
    describeObject: async ({ object }) => {
      const { sizeBytes, needs, memory, machine } = await known().describe(asked(object));
      return { sizeBytes, needs, memory, machine };
    },
    exportObject: async function* ({ object, offset }) {
      try {
        const bytes = await known().export(asked(object), {
          offset: checkNumber('The offset', offset, BYTES),
        });
        for await (const data of bytes) yield { data: data as Uint8Array };
      } catch (error) {
        throw toConnectError(error, false);
      }
    },
    importObject: async (parts, context) => {
      const { start, content } = await openUpload(parts);
      const { callId, object, maxBytes } = start;
      await cancellable(callId, context, (signal) =>
        known().import(asked(object), content, {
          ...(maxBytes === undefined ? {} : { maxBytes: checkNumber('The size', maxBytes, BYTES) }),
          signal,
        }),
      );
      return {};
    },
  } satisfies Partial<DriverHandlers>;
}

function asked(object: { kind: string; id: string } | undefined): StoredObject {
  return requireObject(object ?? { kind: '', id: '' });
}
