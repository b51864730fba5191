export function withVersion(files: ReadonlyMap<string, string>, version: string): Map<string, string>;
