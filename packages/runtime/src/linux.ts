export { driverIsUp } from './backup/open-store.js';
export { openStoreBackup, type StoreBackup } from './backup/store-backup.js';
export { entryKinds, isStoreEntry, type StoreEntry } from './backup/store-entry.js';
export { openStoreRestore, type StoreRestore, unpackTree } from './backup/store-restore.js';
export { removeTree } from './jail/remove-tree.js';
export { createLinuxDriver } from './linux-driver/create-linux-driver.js';
export { IDS as IDS_PER_INSTANCE } from './linux-driver/ids/id-ranges.js';
export type { IdPool, LinuxDriverOptions } from './linux-driver/state/options.js';
export { otherUsersOfBases, removeDriverData, takeDownDriver } from './uninstall/remove-driver.js';
