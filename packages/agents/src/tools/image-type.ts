const IMAGES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

/** The type of an image that models can be shown, by the name of its file; undefined for all others. Pure. */
export function imageTypeOf(path: string): string | undefined {
  return IMAGES[path.split('.').at(-1)?.toLowerCase() ?? ''];
}
