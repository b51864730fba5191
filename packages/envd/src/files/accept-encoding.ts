/** How a body may be sent. */
export type ContentForm = 'gzip' | 'identity';

/**
 * Chooses the form by `Accept-Encoding`; undefined when neither is acceptable. `plainOnly`: ranges and conditions are
 * about the identity form.
 */
export function chooseForm(header: string | undefined, plainOnly: boolean): ContentForm | undefined {
  const weights = parseWeights(header ?? '');
  const any = weights.get('*');
  if (!plainOnly && (weights.get('gzip') ?? weights.get('x-gzip') ?? any ?? 0) > 0) return 'gzip';
  // Identity is acceptable unless it is ruled out, by name or by `*;q=0`.
  return (weights.get('identity') ?? any ?? 1) > 0 ? 'identity' : undefined;
}

function parseWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const item of header.split(',')) {
    const [name, ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    if (!name) continue;
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    const weight = q === undefined ? 1 : Number(q.slice(2));
    weights.set(name, Number.isFinite(weight) ? weight : 0);
  }
  return weights;
}
