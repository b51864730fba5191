import { splitAuthority } from '@svc/network-policy';
import { type RawHeaders, valuesOf } from './headers.js';

/**
 * The host that a request is for. A request that names two is `conflict`, since the next server might see the other one.
 * @param target the target of the request line: a path, or an absolute URL
 */
export function hostOfRequest(target: string, raw: RawHeaders): { host?: string } | 'conflict' {
  const fields = valuesOf(raw, 'host');
  if (fields.length > 1) return 'conflict';
  const [field = ''] = fields;
  let authority = field;
  if (!target.startsWith('/') && target !== '*') {
    const absolute = /^http:\/\/([^/?#@\\]+)(?:[/?]|$)/i.exec(target)?.[1];
    if (absolute === undefined) return 'conflict';
    if (fields.length > 0 && absolute.toLowerCase() !== field.toLowerCase()) return 'conflict';
    authority = absolute;
  }
  if (authority === '') return {};
  const host = splitAuthority(authority)?.host;
  return host === undefined ? 'conflict' : { host };
}
