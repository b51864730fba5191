import { HttpFailure } from './http-failure.js';

const PREFIX = 'x-metadata-';
const MAX_KEY_BYTES = 246;
const MAX_TOTAL_BYTES = 4096;

/**
 * Reads the metadata of an upload from its headers; keys are lower case.
 *
 * @throws HttpFailure 400 beyond the limits: key 246 bytes of token characters, value printable ASCII, all 4096 bytes.
 */
export function parseMetadataHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const metadata: Record<string, string> = {};
  let total = 0;
  for (const [name, header] of Object.entries(headers)) {
    if (!name.startsWith(PREFIX) || header === undefined) continue;
    const key = name.slice(PREFIX.length);
    const value = Array.isArray(header) ? header.join(', ') : header;
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(key) || key.length > MAX_KEY_BYTES) {
      throw new HttpFailure(
        400,
        `metadata key ${JSON.stringify(key)} is not 1 to ${MAX_KEY_BYTES} token characters`,
      );
    }
    if (!/^[\x20-\x7e]*$/.test(value))
      throw new HttpFailure(400, `metadata ${key}: value is not printable ASCII`);
    total += key.length + value.length;
    metadata[key] = value;
  }
  if (total > MAX_TOTAL_BYTES) throw new HttpFailure(400, `metadata is longer than ${MAX_TOTAL_BYTES} bytes`);
  return metadata;
}
