/** The host's own `/usr` below a small skeleton: a base that needs no download, and changes when the host does. */
export const HOST_BASE = 'host';

/** A base that was built: suite, recipe, content. */
const BUILT = /^[a-z]+-[0-9a-f]{12}-[0-9a-f]{12}$/;

/** Whether what an instance stands on is a base and not a stored layer, whose ids have no dashes. */
export function isBaseName(id: string): boolean {
  return id === HOST_BASE || isBuiltBase(id);
}

/** Whether it is the name of a base that was built. Such a name is safe in a path. */
export function isBuiltBase(id: string): boolean {
  return BUILT.test(id);
}
