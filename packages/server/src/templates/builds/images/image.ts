import type { Readable } from 'node:stream';

/** An image whose files lie on this machine. */
export interface LocalImage {
  /** Names the content: equal images have equal ones. */
  digest: string;
  /** `NAME=value` of the image's configuration. */
  env: string[];
  /** Layers from the lowest up; each call reads one anew, as a plain tar stream. */
  layers: (() => Readable)[];
}

/** More than any tool makes. */
export const MAX_LAYERS = 512;

/** Largest description in an image. */
export const MAX_DESCRIPTION_BYTES = 16 * 1_048_576;
