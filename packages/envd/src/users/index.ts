export type { OsUser } from './account-files.js';
export { createUsers, type OwnerNames, type Users, type UsersOptions } from './users.js';
