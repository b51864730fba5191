/** What instances without layers of their own may stand on: a Debian that is built once, or the host's `/usr`. */
export const baseRoots = ['debian', 'host'] as const;
export type BaseRoot = (typeof baseRoots)[number];
