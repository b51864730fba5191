/** What a server keeps of its own, beside its database. What else lies there is of one run, or another's. */
export const KEPT_FILES = ['server.key', 'node-id', 'operator-token', 'credentials.json', 'builds'] as const;

export const DATABASE = 'server.db';

/** All that a backup may hold of a server. */
export const SERVER_PART: readonly string[] = [DATABASE, ...KEPT_FILES];
