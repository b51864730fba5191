import { errors } from '../../api/errors/catalog.js';
import { isUuid } from '../../api/wire/ids.js';

/** The parts of `[namespace/]alias[:tag]`. `alias` may also be a template id. */
export interface TemplateReference {
  namespace?: string;
  alias: string;
  /** Absent: `default`. */
  tag?: string;
}

export const DEFAULT_TAG = 'default';

const NAME = /^[a-z0-9_-]+$/;
const TAG = /^[a-z0-9_.-]+$/;

/** Reads a reference, trimmed and lower-cased; `:default` is as good as no tag. @throws {ApiError} 400 */
export function parseTemplateReference(text: string): TemplateReference {
  const reference = text.trim().toLowerCase();
  const colon = reference.indexOf(':');
  const name = colon < 0 ? reference : reference.slice(0, colon);
  const tag = colon < 0 ? undefined : reference.slice(colon + 1);
  const parts = name.split('/');
  if (parts.length > 2 || !parts.every((part) => NAME.test(part)))
    throw errors.templateReferenceInvalid(text);
  if (tag !== undefined && !isTag(tag)) throw errors.templateReferenceInvalid(text);
  return {
    ...(parts.length === 2 ? { namespace: parts[0]! } : {}),
    alias: parts[parts.length - 1]!,
    ...(tag === undefined || tag === DEFAULT_TAG ? {} : { tag }),
  };
}

export function isTag(text: string): boolean {
  return TAG.test(text) && text.length <= 128 && !isUuid(text);
}
