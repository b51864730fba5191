/** Makes a path of a client absolute: relative ones start at the home. Bytes, because a name need not be text. Pure. */
export function absolutePath(path: Buffer, home: string): Buffer {
  if (path.includes(0)) throw new Error('the path holds a NUL byte');
  if (path[0] === 0x2f) return path;
  return Buffer.concat([Buffer.from(`${home}/`), path]);
}

/** `~` and `~/x` start at the home. @throws Error for other users' homes. Pure. */
export function expandPath(path: Buffer, home: string): Buffer {
  if (path[0] !== 0x7e) return absolutePath(path, home);
  if (path.length > 1 && path[1] !== 0x2f) throw new Error("other users' homes are not supported");
  return Buffer.concat([Buffer.from(home), path.subarray(1)]);
}

/** Joins a directory and a name. Pure. */
export function joinPath(directory: Buffer, name: Buffer): Buffer {
  return Buffer.concat([directory, Buffer.from('/'), name]);
}

/** Removes `.`, `..` and empty parts by their text, for paths of which nothing is there. Pure. */
export function normalizePath(path: Buffer): Buffer {
  const parts: string[] = [];
  for (const part of path.toString('latin1').split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return Buffer.from(`/${parts.join('/')}`, 'latin1');
}
