export const DEFAULT_ADDRESS = '/var/lib/incus/unix.socket';
export const DEFAULT_PROJECT = 'svc';
export const DEFAULT_NAME_SERVERS: readonly string[] = ['1.1.1.1', '8.8.8.8'];
/** An Incus that can start an instance in the request that makes it. */
export const NEEDED_EXTENSIONS: readonly string[] = ['instance_create_start'];
