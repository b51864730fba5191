/** An absolute path with `name` behind it. */
export function joinPath(directory: string, name: string): string {
  return `${directory === '/' ? '' : directory}/${name}`;
}

/** The directory that a path lies in; of `/`, itself. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

/** Every directory on the way to a path, the root first. */
export function crumbsOf(path: string): { name: string; path: string }[] {
  const names = path.split('/').filter((name) => name !== '');
  const crumbs = names.map((name, index) => ({ name, path: `/${names.slice(0, index + 1).join('/')}` }));
  return [{ name: '/', path: '/' }, ...crumbs];
}

/** Returns a typed path as an absolute one without `.`, `..` and doubled slashes. */
export function cleanPath(typed: string): string {
  const names: string[] = [];
  for (const name of typed.trim().split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return `/${names.join('/')}`;
}
