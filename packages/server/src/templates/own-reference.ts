import { errors } from '../api/errors/catalog.js';
import {
  DEFAULT_TAG,
  isTag,
  parseTemplateReference,
  type TemplateReference,
} from '../sandboxes/records/template-reference.js';

/**
 * Reads a name under which a team wants to write: an explicit namespace must be the team's own.
 * @throws {ApiError} 400
 */
export function parseOwnReference(text: string, teamSlug: string): TemplateReference {
  const reference = parseTemplateReference(text);
  if (reference.namespace !== undefined && reference.namespace !== teamSlug)
    throw errors.badRequest(`the namespace must be that of the team, '${teamSlug}'`);
  return reference;
}

/** Tags in canonical form: trimmed, lower case, each once, in the order given. @throws {ApiError} 400 */
export function normalizeTags(tags: readonly string[]): string[] {
  const seen = new Set<string>();
  for (const text of tags) {
    const tag = text.trim().toLowerCase();
    if (!isTag(tag))
      throw errors.badRequest(
        `'${text.slice(0, 200)}' is not a tag: a-z, 0-9, '_', '.' and '-', at most 128, no UUID`,
      );
    seen.add(tag);
  }
  return [...seen];
}

/** Tags of a new build: that of the name, then those listed; `default` when there is none at all. */
export function tagsOfBuild(
  reference: TemplateReference,
  nameHasTag: boolean,
  tags: readonly string[],
): string[] {
  const own = nameHasTag ? [reference.tag ?? DEFAULT_TAG] : [];
  const all = normalizeTags([...own, ...tags]);
  return all.length === 0 ? [DEFAULT_TAG] : all;
}
