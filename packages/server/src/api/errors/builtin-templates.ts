/** A template that comes with svc, and is built on demand. */
const builtin = 'code-interpreter';

/** The template of ours that a name means to clients of other services; undefined for other names. Pure. */
export function builtinAlias(alias: string): string | undefined {
  return alias === 'code-interpreter-v1' ? builtin : undefined;
}

/** Returns advice about a reference that no template has; empty for names that svc does not know. Pure. */
export function builtinHint(reference: string): string {
  const alias = reference.trim().toLowerCase().replace(/:.*/, '');
  if (alias !== builtin && builtinAlias(alias) === undefined) return '';
  return `. It comes with svc: build it once by \`svc template build --builtin ${builtin}\``;
}
