import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** Where everything of one data directory stands. Paths in `store` exist in the keeper's mount namespace only. */
export interface Paths {
  dataDir: string;
  /** Eight hex digits that distinguish this data directory's resources on the host from others. */
  tag: string;
  /** State directory of the OCI runtime. */
  oci: string;
  /** One JSON file per instance. */
  instances: string;
  /** Volumes, where the store has no subvolumes. */
  volumes: string;
  storeImage: string;
  store: string;
  keeperFile: string;
  networkFile: string;
  /** Which block of host ids the driver has. */
  idsFile: string;
  /** The same of all drivers of this host: a file per block, named after its first id. Lost after a restart of the machine, like the instances. */
  idClaims: string;
}

export function pathsOf(dataDir: string): Paths {
  return {
    dataDir,
    tag: createHash('sha256').update(dataDir).digest('hex').slice(0, 8),
    oci: join(dataDir, 'oci'),
    instances: join(dataDir, 'instances'),
    volumes: join(dataDir, 'volumes'),
    storeImage: join(dataDir, 'store.img'),
    store: join(dataDir, 'store'),
    keeperFile: join(dataDir, 'keeper.json'),
    networkFile: join(dataDir, 'network.json'),
    idsFile: join(dataDir, 'ids.json'),
    idClaims: '/run/svc/ids',
  };
}
