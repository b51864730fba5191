import { KeyedMutex } from '#support/keyed-mutex';
import type { StoredObject, Transfers } from '../../contract/transfers.js';
import { readMachine } from '../../host/read-machine.js';
import { objectName, requireObject } from '../../transfer/object-id.js';
import { storeImages } from '../checkpoints/store-images.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { Tiers } from '../make-tiers.js';
import { describeObject, isHere } from './describe-object.js';
import { exportObject } from './export-object.js';
import { importObject } from './import-object.js';
import type { ObjectHead } from './object-head.js';

/** Objects of the store on their way to and from other hosts whose drivers have the same key. */
export function linuxTransfers(host: LinuxHost, tiers: Tiers, key: Buffer): Transfers {
  const machine = readMachine();
  const importing = new KeyedMutex();
  const storing = new KeyedMutex();
  /** Describes an object that can be sent. */
  const describe = async (object: StoredObject): Promise<ObjectHead> => {
    await host.up();
    // One that was made for copies at once may be in memory only.
    if (object.kind === 'checkpoint') await storing.run(object.id, () => storeImages(host, object.id));
    return describeObject(host, object, machine);
  };
  return {
    machine,
    async has(asked) {
      const object = requireObject(asked);
      await host.up();
      return isHere(host, object);
    },
    async describe(asked) {
      const { layer: _, checkpoint: __, ...description } = await describe(requireObject(asked));
      return description;
    },
    async export(asked, { offset = 0 } = {}) {
      return exportObject(host, await describe(requireObject(asked)), { key, offset });
    },
    async import(asked, archive, options = {}) {
      const object = requireObject(asked);
      await importing.run(objectName(object), async () => {
        await host.up();
        if (isHere(host, object)) return;
        await importObject({ host, tiers, machine, key }, object, archive, options);
      });
    },
  };
}
