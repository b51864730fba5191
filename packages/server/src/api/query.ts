import type { ParameterObject } from './document.js';

export type ParsedQuery = Record<string, string | string[]>;

/**
 * Brings list parameters into the form that the document describes: `a,b` of an unexploded list and a single value of
 * an exploded one become arrays. Others stay as they came, so that a repeated single value fails validation.
 */
export function shapeQuery(parameters: ParameterObject[], query: ParsedQuery): Record<string, unknown> {
  const shaped: Record<string, unknown> = { ...query };
  for (const parameter of parameters) {
    if (parameter.in !== 'query' || parameter.schema?.type !== 'array') continue;
    const value = query[parameter.name];
    if (value === undefined) continue;
    if (parameter.explode === false && typeof value === 'string')
      shaped[parameter.name] = value === '' ? [] : value.split(',');
    else if (typeof value === 'string') shaped[parameter.name] = [value];
  }
  return shaped;
}
