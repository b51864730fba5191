/**
 * Encodes metadata pairs for the `metadata` query parameter of the sandbox lists: each key and value, then the joined
 * text as form data. The third layer is the query string's own and is added by the client's query serializer.
 *
 * Returns undefined for no pairs, since an empty filter is an error on the wire.
 *
 * @wire listSandboxesV2, listSandboxes
 */
export function encodeMetadataFilter(metadata: Record<string, string>): string | undefined {
  const pairs = Object.entries(metadata).map(([key, value]) => [
    encodeURIComponent(key),
    encodeURIComponent(value),
  ]);
  return pairs.length === 0 ? undefined : new URLSearchParams(pairs).toString();
}
