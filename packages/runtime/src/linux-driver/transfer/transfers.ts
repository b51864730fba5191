import { KeyedMutex } from '#support/keyed-mutex';
import type { Transfers } from '../../contract/transfers.js';
import { readMachine } from '../../host/read-machine.js';
import { objectName, requireObject } from '../../transfer/object-id.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { Tiers } from '../make-tiers.js';
import { describeObject, isHere } from './describe-object.js';
import { exportObject } from './export-object.js';
import { importObject } from './import-object.js';

/** Objects of the store on their way to and from other hosts whose drivers have the same key. */
export function linuxTransfers(host: LinuxHost, tiers: Tiers, key: Buffer): Transfers {
  const machine = readMachine();
  const importing = new KeyedMutex();
  return {
    machine,
    async has(asked) {
      const object = requireObject(asked);
      await host.up();
      return isHere(host, object);
    },
    async describe(asked) {
      const object = requireObject(asked);
      await host.up();
      const { layer: _, checkpoint: __, ...description } = await describeObject(host, object, machine);
      return description;
    },
    async export(asked, { offset = 0 } = {}) {
      const object = requireObject(asked);
      await host.up();
      return exportObject(host, await describeObject(host, object, machine), { key, offset });
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
