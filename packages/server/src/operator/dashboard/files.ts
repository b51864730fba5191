import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { dashboardDirectory } from '@svc/dashboard';

/** A file of the web application. */
export interface PageFile {
  type: string;
  content: Buffer;
  /** True when its name changes with its content. */
  immutable: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

/** Reads the files of the web application when the first of them is asked for: most servers never give one. */
export function pageFiles(directory = dashboardDirectory): (name: string) => Promise<PageFile | undefined> {
  let read: Promise<Map<string, PageFile>> | undefined;
  return async (name) => {
    read ??= readAll(directory);
    // Not cached: a later build of the dashboard needs no restart of the server.
    read.catch(() => {
      read = undefined;
    });
    return (await read).get(name);
  };
}

async function readAll(directory: string): Promise<Map<string, PageFile>> {
  const files = new Map<string, PageFile>();
  for (const name of await readdir(directory)) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const content = await readFile(join(directory, name));
    files.set(name, { type, content, immutable: /-[A-Z0-9]{8}\.(js|css)$/.test(name) });
  }
  return files;
}
