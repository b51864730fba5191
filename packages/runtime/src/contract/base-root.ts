/** The root file systems for instances without layers of their own: a Debian that is built once, or the host's `/usr`. */
export const baseRoots = ['debian', 'host'] as const;
export type BaseRoot = (typeof baseRoots)[number];
