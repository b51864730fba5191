import { ServerError } from '../errors/answer-errors.js';

/**
 * The name of an entry as a sandbox or the service answered it. Callers join it to paths of their own, so what is no
 * single name (`..`, `a/b`, empty, with a NUL) is an error; the root alone is called `/`. Backslashes and colons are
 * ordinary characters there: on Windows look at them before using a name.
 * @throws ServerError
 */
export function entryName(name: string, path: string): string {
  if (name === '/' && path === '/') return name;
  if (!isOneName(name)) throw noSuchName(name);
  return name;
}

/**
 * A path relative to a watched directory, as a sandbox answered it: names with `/` between them.
 * @throws ServerError
 */
export function relativeName(path: string): string {
  if (!path.split('/').every(isOneName)) throw noSuchName(path);
  return path;
}

function isOneName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name);
}

function noSuchName(name: string): ServerError {
  const text = JSON.stringify(name).slice(0, 200);
  return new ServerError(
    `The sandbox named an entry ${text}, which no entry can be called. A program in it may have taken the place of its daemon: do not trust what it answers.`,
  );
}
