/** Reads the `metadata` filter as the server does: query decoding, form decoding of the whole, split, of each part. */
export function decodeMetadataFilter(rawQueryValue: string): Record<string, string> {
  const text = unescapeForm(unescapeForm(rawQueryValue));
  return Object.fromEntries(
    text.split('&').map((piece) => {
      const parts = piece.split('=');
      if (parts.length !== 2) throw new Error('Error parsing metadata');
      return [unescapeForm(parts[0]!), unescapeForm(parts[1]!)];
    }),
  );
}

function unescapeForm(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
