import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const own = fileURLToPath(new URL('../..', import.meta.url));

/** Which adapters stand on which framework. */
const ADAPTERS: Record<string, readonly string[]> = {
  'ai-sdk': ['ai-sdk'],
  openai: ['openai'],
  langchain: ['langchain', 'deepagents'],
  mastra: ['mastra'],
};

/** Declarations that the code of the document takes for granted, where it does not make them itself. */
const GIVEN: Record<string, string> = {
  model: 'any',
  prompt: 'string',
  tools: 'any',
  register:
    '(tool: { name: string; description: string; parameters: object; execute(input: unknown): unknown }) => void',
  signal: 'AbortSignal',
  sandbox: "import('@svc/sdk').Sandbox",
};

/**
 * Compiles the adapters of a framework, their tests and the code of docs/agents.md with the framework's own types.
 * @param directory where it is installed
 * @returns what the compiler says
 */
export function typeErrors(name: string, directory: string): string {
  const project = mkdtempSync(join(directory, 'types-'));
  try {
    const paths = ['src', 'frameworks', 'test/support', `test/frameworks/${name}.ts`];
    for (const path of paths.filter((path) => existsSync(join(own, path))))
      cpSync(join(own, path), join(project, path), { recursive: true });
    for (const [framework, adapters] of Object.entries(ADAPTERS))
      for (const adapter of adapters)
        if (framework !== name) rmSync(join(project, 'src', adapter), { recursive: true, force: true });
    for (const [index, code] of codeOfDocument(name).entries())
      writeFileSync(join(project, 'src', `document-${index + 1}.ts`), code);
    // A package that is not the framework's is that of the workspace.
    mkdirSync(join(project, 'node_modules/@svc'), { recursive: true });
    for (const sibling of ['sdk', 'server', 'support'])
      symlinkSync(join(own, '..', sibling), join(project, 'node_modules/@svc', sibling));
    for (const dependency of ['ai', 'zod', 'vitest', '@types'])
      symlinkSync(join(own, '../../node_modules', dependency), join(project, 'node_modules', dependency));
    const settings = {
      extends: join(own, '../../tsconfig.base.json'),
      compilerOptions: {
        paths: { '@svc/agents': ['./src/index.ts'], '@svc/agents/*': ['./src/*/index.ts'] },
      },
      include: ['src', 'test/frameworks'],
    };
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(settings));
    const compiler = join(own, '../../node_modules/typescript-7/bin/tsc');
    execFileSync(process.execPath, [compiler, '-p', project], { encoding: 'utf8' });
    return '';
  } catch (error) {
    return (error as { stdout?: string }).stdout || String(error);
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}

/** The code of docs/agents.md that is about a framework; what is about none is taken as the first one's. */
function codeOfDocument(name: string): string[] {
  const text = readFileSync(join(own, '../../docs/agents.md'), 'utf8');
  const blocks = [...text.matchAll(/^```ts.*\n([\s\S]*?)^```/gm)].map(([, code]) => code!);
  const adapterOf = (code: string) => /'@svc\/agents\/([^']+)'/.exec(code)?.[1] ?? 'ai-sdk';
  return blocks
    .filter((code) => ADAPTERS[name]!.includes(adapterOf(code)))
    .map((code) => {
      const missing = Object.entries(GIVEN).filter(
        ([word]) => !new RegExp(`(const|using) ${word}\\b`).test(code),
      );
      const given = missing.map(([word, type]) => `declare const ${word}: ${type};\n`).join('');
      const sandboxes = /(const|using) sandboxes\b/.test(code)
        ? ''
        : "declare const sandboxes: import('@svc/agents').ToolSandboxes;\n";
      return `${given}${sandboxes}${code}\nexport {};\n`;
    });
}
