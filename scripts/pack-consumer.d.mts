export interface PackedPackage {
  name: string;
  /** Path of the tarball. */
  tarball: string;
  /** Bytes of the tarball. */
  size: number;
  /** Bytes once installed. */
  unpackedSize: number;
  files: { path: string; size: number }[];
}

export interface Consumer {
  directory: string;
  packed: PackedPackage[];
  dispose(): void;
  write(path: string, text: string): void;
  node(...args: string[]): string;
  loadOf(name: string): string;
  typecheck(files: string[], compilerOptions: Record<string, unknown>): void;
}

export function packTo(directory: string, name: string): PackedPackage;
export function createConsumer(names: string[]): Consumer;
