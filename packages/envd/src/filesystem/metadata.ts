/** Extended attributes with this prefix hold a file's metadata. */
const PREFIX = 'user.svc.';

type Attributes = typeof import('@napi-rs/xattr');

/** Metadata that was uploaded with files, kept in their extended attributes. */
export interface MetadataStore {
  /** Metadata of a regular file, undefined when it has none or the file system keeps none. Never throws. */
  read(path: string): Record<string, string> | undefined;
  /**
   * Replaces all metadata of a file.
   *
   * @throws MetadataError when the file system does not take it.
   */
  replace(path: string, metadata: Readonly<Record<string, string>>): void;
}

/** The file system could not keep the metadata. */
export class MetadataError extends Error {
  override readonly name = 'MetadataError';
  /** An errno name. */
  readonly code: string;

  constructor(path: string, code: string) {
    super(`${path}: metadata could not be stored (${code})`);
    this.code = code;
  }
}

let loading: Promise<MetadataStore> | undefined;

/** Opens the store. The native part is loaded on the first call, once per process. */
export function openMetadata(): Promise<MetadataStore> {
  loading ??= import('@napi-rs/xattr').then(
    // A CommonJS module: as `default` in Node, spread out in a bundle.
    (module) => createMetadataStore((module as { default?: Attributes }).default ?? module),
    () => withoutAttributes,
  );
  return loading;
}

// The calls are synchronous on purpose: two microseconds each, a tenth of a trip through the thread pool.
function createMetadataStore(attributes: Attributes): MetadataStore {
  const names = (path: string): string[] =>
    attributes.listAttributesSync(path).filter((name) => name.startsWith(PREFIX));
  return {
    read(path) {
      try {
        const found = names(path);
        if (found.length === 0) return undefined;
        const metadata: Record<string, string> = {};
        for (const name of found) {
          const value = attributes.getAttributeSync(path, name);
          if (value) metadata[name.slice(PREFIX.length)] = value.toString('latin1');
        }
        return metadata;
      } catch {
        return undefined;
      }
    },
    replace(path, metadata) {
      const keys = Object.keys(metadata);
      try {
        for (const name of names(path)) {
          if (!Object.hasOwn(metadata, name.slice(PREFIX.length))) attributes.removeAttributeSync(path, name);
        }
        for (const key of keys)
          attributes.setAttributeSync(path, PREFIX + key, Buffer.from(metadata[key]!, 'latin1'));
      } catch (error) {
        const code = errorCode(error);
        // A file system without attributes has no old metadata to take away either.
        if (code === 'ENOTSUP' && keys.length === 0) return;
        throw new MetadataError(path, code);
      }
    },
  };
}

const withoutAttributes: MetadataStore = {
  read: () => undefined,
  replace(path, metadata) {
    if (Object.keys(metadata).length > 0) throw new MetadataError(path, 'ENOTSUP');
  },
};

/** The native part reports numbers in a text: "... (os error 95)". */
function errorCode(error: unknown): string {
  const number = /\(os error (\d+)\)/.exec(error instanceof Error ? error.message : '')?.[1];
  const codes: Record<string, string> = {
    2: 'ENOENT',
    7: 'E2BIG',
    28: 'ENOSPC',
    95: 'ENOTSUP',
    122: 'EDQUOT',
  };
  return (number && codes[number]) || 'EIO';
}
