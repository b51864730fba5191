// From the protobuf services to Connect descriptors and messages.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { goEnvironment } from '../go.mjs';
import { header } from './provenance.mjs';
import { runTool } from './run.mjs';

/** By the template of buf: what a generated file ends with, after the name of its proto file. */
const endings = { 'buf.gen.yaml': /_pb\.ts$/, 'buf.gen.go.yaml': /\.(?:pb|connect)\.go$/ };

/** Returns the generated files of some folders of `proto/`: path below the package's folder of generated code to content. */
export function protoFiles(protoDirectory, folders, templateName = 'buf.gen.yaml') {
  const out = mkdtempSync(join(tmpdir(), 'svc-proto-'));
  try {
    const template = parse(readFileSync(join(protoDirectory, templateName), 'utf8'));
    for (const plugin of template.plugins) plugin.out = out;
    const paths = folders.flatMap((folder) => ['--path', folder]);
    runTool('buf', ['generate', '--template', JSON.stringify(template), ...paths], {
      cwd: protoDirectory,
      ...(templateName === 'buf.gen.go.yaml' ? { env: goEnvironment() } : {}),
    });
    const files = {};
    const ending = endings[templateName];
    for (const path of readdirSync(out, { recursive: true }).filter((entry) => ending.test(entry))) {
      const name = path.replace(ending, '');
      // Connect's code lies in a package of its own, one folder deeper.
      const source = `${name.replace(/^(\w+)\/\1connect\//, '$1/')}.proto`;
      const input = readFileSync(join(protoDirectory, source), 'utf8');
      files[path] = header(`proto/${source}`, input) + readFileSync(join(out, path), 'utf8');
    }
    return files;
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}
