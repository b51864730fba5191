/** The host's own `/usr` below a small skeleton: a base that needs no download, and changes when the host does. */
export const HOST_BASE = 'host';

/** A base that was built: suite, recipe, content. */
const BUILT = /^[a-z]+-[0-9a-f]{12}-[0-9a-f]{12}$/;

/** Returns true if the id is a base's and not a stored layer's, whose ids have no dashes. */
export function isBaseName(id: string): boolean {
  return id === HOST_BASE || isBuiltBase(id);
}

/** Returns true for the name of a base that was built. Such a name is safe in a path. */
export function isBuiltBase(id: string): boolean {
  return BUILT.test(id);
}
