import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { blocksOf, type CodeBlock, readBlocks } from './blocks-of-pages.js';
import { compilerOptions } from './compiler-options.js';

const directory = fileURLToPath(new URL('.', import.meta.url));
const preludeFile = `${directory}names-of-pages.ts`;

/** What a block may use that the text around it, or a block before it, has introduced. */
const prelude = `
import type * as sdk from '../../src/index.js';
import type { explainEgress } from '../../src/egress.js';
import type { TestService as Service } from '../../src/testing.js';
declare global {
  const Sandbox: typeof sdk.Sandbox;
  const Client: typeof sdk.Client;
  const secret: typeof sdk.secret;
  const iamToken: typeof sdk.iamToken;
  const identityToken: typeof sdk.identityToken;
  const client: sdk.Client;
  const sandbox: sdk.Sandbox;
  const other: sdk.Sandbox;
  const git: sdk.Sandbox['git'];
  const network: Parameters<typeof explainEgress>[0];
  const service: Service;
  const signal: AbortSignal;
  const runMyAgent: (client: sdk.Client) => Promise<void>;
  const work: (client: sdk.Client) => Promise<void>;
  const apiUrl: string;
  const sandboxUrl: string;
}
`;

const blocks = readBlocks();
const program = ['ts', 'js', 'typescript', 'javascript'];

/** Programs of applications: what imports other packages of ours is told by those packages' tests. */
const isOfSdk = ({ code }: CodeBlock) =>
  [...code.matchAll(/from '([^'./][^']*)'/g)].every(([, name]) => /^(@svc\/sdk(\/|$)|node:)/.test(name!));

it('finds the code blocks of pages, and why some are not checked', () => {
  const text = 'a\n```ts\nlet x;\n```\n````text\n```\n````\n```ts not-checked: a part\nb\n```\n';
  expect(blocksOf('p.md', text)).toEqual([
    { page: 'p.md', line: 3, language: 'ts', code: 'let x;' },
    { page: 'p.md', line: 6, language: 'text', code: '```' },
    { page: 'p.md', line: 9, language: 'ts', code: 'b', notChecked: 'a part' },
  ]);
});

it('shows programs that the compiler accepts, and would tell of one that it does not', {
  timeout: 120_000,
}, () => {
  const shown = blocks.filter(
    (block) =>
      program.includes(block.language) &&
      block.notChecked === undefined &&
      isOfSdk(block) &&
      (/^(docs\/|README)/.test(block.page) || block.page === 'packages/sdk/README.md'),
  );
  expect(shown.length).toBeGreaterThan(20);
  // One that is wrong, so that this test cannot pass without looking.
  const code = "import { Client } from '@svc/sdk';\nawait new Client().sandboxes.invent();";
  const wrong = { page: 'p.md', line: 10, language: 'ts', code };
  expect(problemsOf([...shown, wrong])).toEqual([expect.stringMatching(/^p\.md:11: .*'invent'/)]);
});

it('shows JSON and YAML that can be read', () => {
  const shown = blocks.filter(({ language }) => /^(json|ya?ml)$/.test(language));
  expect(shown.length).toBeGreaterThan(1);
  const wrong = shown.flatMap(({ page, line, code }) =>
    parseAllDocuments(code).flatMap(({ errors }) =>
      errors.map(({ message }) => `${page}:${line}: ${message}`),
    ),
  );
  expect(wrong).toEqual([]);
  for (const { language, code } of shown) if (language === 'json') JSON.parse(code);
});

/** Each block is a module of its own. */
function problemsOf(shown: CodeBlock[]): string[] {
  const files = new Map(shown.map((block, at) => [`${directory}page-block-${at}.ts`, block]));
  const texts = new Map([...files].map(([file, { code }]) => [file, `${code}\nexport {};\n`]));
  texts.set(preludeFile, prelude);
  const host = ts.createCompilerHost(compilerOptions);
  const { getSourceFile, fileExists, readFile } = host;
  host.getSourceFile = (file, version, ...rest) => {
    const text = texts.get(file);
    return text === undefined
      ? getSourceFile.call(host, file, version, ...rest)
      : ts.createSourceFile(file, text, version, true);
  };
  host.fileExists = (file) => texts.has(file) || fileExists.call(host, file);
  host.readFile = (file) => texts.get(file) ?? readFile.call(host, file);
  const compiled = ts.createProgram([...texts.keys()], compilerOptions, host);
  return [...texts.keys()].flatMap((file) => {
    const source = compiled.getSourceFile(file)!;
    const problems = [
      ...compiled.getSyntacticDiagnostics(source),
      ...compiled.getSemanticDiagnostics(source),
    ];
    return problems.map(({ messageText, start = 0 }) => {
      const block = files.get(file);
      const line = (block?.line ?? 1) + source.getLineAndCharacterOfPosition(start).line;
      return `${block?.page ?? file}:${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    });
  });
}
