/**
 * The content of a cache file: V8's data twice. V8 looks at the head alone and crashes on damage further on, and two
 * copies are compared in a fraction of the time that a digest takes.
 */
export function serializeCodeCache(data: Buffer): Buffer {
  return Buffer.concat([data, data]);
}

/** V8's data of a cache file; undefined when the file is damaged. */
export function parseCodeCache(file: Buffer): Buffer | undefined {
  const size = file.length / 2;
  if (size === 0 || !Number.isInteger(size)) return undefined;
  const data = file.subarray(0, size);
  return data.equals(file.subarray(size)) ? data : undefined;
}
