import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type OutputFile } from 'esbuild';
import { below, type Row } from '../row.js';

const here = fileURLToPath(new URL('.', import.meta.url));

/** Bytes that a page loads before the first call, and what comes later on demand; minified and gzipped. */
async function bundle(code: string): Promise<{ entryBytes: number; laterBytes: number }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: code, resolveDir: here, loader: 'js' },
    bundle: true,
    minify: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    outdir: 'out',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  const size = (file: OutputFile) => gzipSync(file.contents).length;
  const path = (file: OutputFile) => file.path.slice(file.path.lastIndexOf('/out/') + 1);
  // The entry and what it imports statically are loaded at once.
  const eager = new Set<string>();
  const visit = (name: string) => {
    if (eager.has(name)) return;
    eager.add(name);
    for (const each of metafile.outputs[name]?.imports ?? [])
      if (each.kind === 'import-statement') visit(each.path);
  };
  visit(Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === '<stdin>')![0]);
  let entryBytes = 0;
  let laterBytes = 0;
  for (const file of outputFiles) {
    if (eager.has(path(file))) entryBytes += size(file);
    else laterBytes += size(file);
  }
  return { entryBytes, laterBytes };
}

export const browserBundle: Row = {
  id: 'browser',
  about: 'browser bundle of the core, minified and gzipped',
  async run() {
    const ours = await bundle(
      `import { Client, Sandbox } from '@svc/sdk'; globalThis.x = [Client, Sandbox];`,
    );
    const rival = await bundle(`import { Sandbox } from 'e2b'; globalThis.x = Sandbox;`).catch(
      () => undefined,
    );
    const value = ours.entryBytes / 1000;
    return [
      {
        id: 'browser',
        what: 'browser bundle of the core',
        value,
        unit: 'kB',
        beside: [
          { name: 'loaded on the first command', value: ours.laterBytes / 1000, unit: 'kB' },
          ...(rival === undefined
            ? []
            : [{ name: 'e2b', value: (rival.entryBytes + rival.laterBytes) / 1000, unit: 'kB' as const }]),
        ],
        target: below(value, 31, '<= 31 kB'),
        how: 'esbuild, minified, gzip',
      },
    ];
  },
};
