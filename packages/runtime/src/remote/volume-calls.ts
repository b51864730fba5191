import type { VolumeContent, Volumes } from '../contract/volumes.js';
import { requireVolumeId } from '../shared/instance-id.js';
import { checkOwnership, checkVolumeLimit } from './check.js';
import { type DriverHandlers, done } from './handlers.js';
import { openUpload } from './upload.js';
import { ownershipFromWire, toConnectError } from './wire.js';

/** The calls about volumes. */
export function volumeCalls(volumes: Volumes) {
  return {
    ...contentCalls((id) => volumes.content(id)),
    makeVolume: ({ id, limitMib }) =>
      done(() => volumes.make(requireVolumeId(id), checkVolumeLimit(limitMib))),
    deleteVolume: ({ id }) => done(() => volumes.delete(requireVolumeId(id))),
    listVolumes: async () => ({ ids: await volumes.list() }),
    volumeUse: async ({ id }) => {
      const bytes = await volumes.usedBytes(requireVolumeId(id));
      return bytes === undefined ? {} : { bytes };
    },
  } satisfies Partial<DriverHandlers>;
}

/** The calls about files of volumes. Paths in volumes are any text: the code that walks them keeps them inside. */
export function contentCalls(contentOf: (volumeId: string) => VolumeContent) {
  const at = (volumeId: string) => contentOf(requireVolumeId(volumeId));
  return {
    statEntry: async ({ volumeId, path }) => ({ entry: await at(volumeId).stat(path) }),
    listEntries: async ({ volumeId, path, depth }) => ({ entries: await at(volumeId).list(path, depth) }),
    changeEntry: async ({ volumeId, path, change }) => ({
      entry: await at(volumeId).change(path, checkOwnership(ownershipFromWire(change))),
    }),
    makeDirectory: async ({ volumeId, path, owner, force }) => ({
      entry: await at(volumeId).makeDirectory(path, { ...checkOwnership(ownershipFromWire(owner)), force }),
    }),
    removeEntry: ({ volumeId, path }) => done(() => at(volumeId).remove(path)),
    readFile: async function* ({ volumeId, path }) {
      const { sizeBytes, content } = await at(volumeId)
        .read(path)
        .catch((error: unknown) => {
          throw toConnectError(error, false);
        });
      yield { part: { case: 'size' as const, value: sizeBytes } };
      for await (const chunk of content)
        yield { part: { case: 'data' as const, value: chunk as Uint8Array } };
    },
    writeFile: async (parts) => {
      const { start, content } = await openUpload(parts);
      const { volumeId, path, owner, force } = start;
      const options = { ...checkOwnership(ownershipFromWire(owner)), force };
      return { entry: await at(volumeId).write(path, content, options) };
    },
  } satisfies Partial<DriverHandlers>;
}
