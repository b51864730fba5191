import { Refusal } from '../answers/refusal.js';

/** `[namespace/]alias[:tag]`, split. `alias` may also be an identifier. */
export interface TemplateReference {
  readonly namespace: string | undefined;
  readonly alias: string;
  readonly tag: string;
}

const isUuid = (text: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** @throws Refusal 400 */
export function readReference(text: string): TemplateReference {
  const found = /^(?:([a-z0-9_-]+)\/)?([a-z0-9_-]+)(?::([a-z0-9_.-]{1,128}))?$/.exec(
    text.trim().toLowerCase(),
  );
  const [, namespace, alias, tag = 'default'] = found ?? [];
  if (alias === undefined || isUuid(tag))
    throw new Refusal(400, `'${text.slice(0, 200)}' is not a template reference: [namespace/]alias[:tag]`);
  return { namespace, alias, tag };
}

/** Reads a sandbox id from a path, the older `<sandboxID>-<clientID>` included. @throws Refusal 400 */
export function readSandboxId(text: string): string {
  const [id = '', ...more] = text.split('-');
  if (more.length > 1 || !/^[a-z0-9]{1,64}$/.test(id)) throw new Refusal(400, 'Invalid sandbox ID');
  return id;
}

/** @throws Refusal 400 with the text that is given */
export function readUuid(text: string, message: string): string {
  if (!isUuid(text)) throw new Refusal(400, message);
  return text.toLowerCase();
}

/** Reads the metadata filter of the lists, which is encoded once as a whole and once for each part. @throws Refusal 400 */
export function readMetadataFilter(value: string | undefined): [key: string, value: string][] {
  if (value === undefined) return [];
  const pairs = formDecode(value)
    .split('&')
    .map((pair) => {
      const parts = pair.split('=').map(formDecode);
      if (parts.length !== 2) throw new Refusal(400, 'Error parsing metadata: every pair must be key=value');
      return parts as [string, string];
    });
  // Of a repeated key the last counts.
  return [...new Map(pairs)];
}

function formDecode(text: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new Refusal(400, 'Error parsing metadata: invalid URL escape');
  }
  if (decoded.includes('\0')) throw new Refusal(400, 'Error parsing metadata: it has a NUL character');
  return decoded;
}
