// From the protobuf services to Connect descriptors and messages.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { header } from './provenance.mjs';
import { runTool } from './run.mjs';

/** Returns the generated files of some folders of `proto/`: path below `src/gen` to content. */
export function protoFiles(protoDirectory, folders) {
  const out = mkdtempSync(join(tmpdir(), 'svc-proto-'));
  try {
    const template = parse(readFileSync(join(protoDirectory, 'buf.gen.yaml'), 'utf8'));
    for (const plugin of template.plugins) plugin.out = out;
    const paths = folders.flatMap((folder) => ['--path', folder]);
    runTool('buf', ['generate', '--template', JSON.stringify(template), ...paths], { cwd: protoDirectory });
    const files = {};
    for (const path of readdirSync(out, { recursive: true }).filter((entry) => entry.endsWith('.ts'))) {
      const source = `${path.replace(/_pb\.ts$/, '')}.proto`;
      const input = readFileSync(join(protoDirectory, source), 'utf8');
      files[path] = header(`proto/${source}`, input) + readFileSync(join(out, path), 'utf8');
    }
    return files;
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}
