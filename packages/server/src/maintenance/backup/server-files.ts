/** The server's own files beside its database. Others there belong to one run, or to another program. */
export const KEPT_FILES = ['server.key', 'node-id', 'operator-token', 'credentials.json', 'builds'] as const;

export const DATABASE = 'server.db';

/** All files of a server that a backup may contain. */
export const SERVER_PART: readonly string[] = [DATABASE, ...KEPT_FILES];
