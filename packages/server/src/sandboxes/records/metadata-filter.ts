import { errors } from '../../api/errors/catalog.js';

/**
 * Reads the metadata filter of the lists. The query value is form-decoded as a whole, split at `&` and `=`, and each
 * part is form-decoded once more. Of a repeated key the last counts.
 * @throws {ApiError} 400 `Error parsing metadata: ...`
 */
export function parseMetadataFilter(value: string): Map<string, string> {
  const pairs = new Map<string, string>();
  for (const piece of formDecode(value).split('&')) {
    const parts = piece.split('=');
    if (parts.length !== 2) throw errors.metadataFilter('every pair must be key=value');
    pairs.set(formDecode(parts[0]!), formDecode(parts[1]!));
  }
  return pairs;
}

function formDecode(text: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw errors.metadataFilter('invalid URL escape');
  }
  if (decoded.includes('\0')) throw errors.metadataFilter('it has a NUL character');
  return decoded;
}
