import { fileURLToPath } from 'node:url';
import { compilerOptions } from '@svc/support/testing/compiler-options';
import ts from 'typescript';
import { beforeAll, expect, it } from 'vitest';

/** Entries that programs import, those of the packages beside the SDK included. */
const entries = [
  '../../src/index.ts',
  '../../src/egress.ts',
  '../../src/opentelemetry.ts',
  '../../src/operator.ts',
  '../../../sync/src/index.ts',
  '../../../testing/src/index.ts',
].map((path) => fileURLToPath(new URL(path, import.meta.url)));
const examplesFile = fileURLToPath(new URL('./examples-of-docstrings.ts', import.meta.url));

/** Names that examples may use without saying where they come from. */
const prelude = `
import { Client, iamToken, identityToken, quote, Sandbox, secret, Template } from '../../src/index.js';
import type { Command, PtySession, TemplateBuild, Volume } from '../../src/index.js';
import { explainEgress } from '../../src/egress.js';
import { instrument, openTelemetry } from '../../src/opentelemetry.js';
import { OperatorClient } from '../../src/operator.js';
import { type DirectorySync, syncDirectory } from '@svc/sync';
import { json, record, replay, TestService } from '@svc/testing';
declare const client: Client;
declare const sandbox: Sandbox;
declare const command: Command;
declare const terminal: PtySession;
declare const volume: Volume;
declare const build: TemplateBuild;
declare const sync: DirectorySync;
declare const operator: OperatorClient;
declare const service: TestService;
declare const expect: (value: unknown) => Record<'toBe' | 'toContain' | 'toEqual', (wanted: unknown) => void>;
declare const pid: number;
declare const [sandboxId, snapshotId, templateId, buildId, webhookId, apiKeyId, nodeId]: [string, string, string, string, string, string, string];
declare const [key, token, signatureSecret]: [string, string, string];
`;

interface Documented {
  name: string;
  examples: string[];
  tags: string[];
}

/** Public methods of exported classes that a program calls by name, and exported functions. */
function readApi(program: ts.Program): Documented[] {
  const checker = program.getTypeChecker();
  const found: Documented[] = [];
  const read = (name: string, symbol: ts.Symbol) => {
    const tags = symbol.getJsDocTags(checker);
    const textOf = (tag: ts.JSDocTagInfo) => ts.displayPartsToString(tag.text);
    const examples = tags.filter((tag) => tag.name === 'example').map(textOf);
    found.push({ name, examples, tags: tags.map((tag) => tag.name) });
  };
  const seen = new Set<ts.Symbol>();
  for (const file of entries) {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    if (!module) throw new Error(`${file} has no exports`);
    for (const exported of checker.getExportsOfModule(module)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      if (seen.has(symbol)) continue;
      seen.add(symbol);
      if (symbol.flags & ts.SymbolFlags.Function) read(symbol.name, symbol);
      if (!(symbol.flags & ts.SymbolFlags.Class) || symbol.name.endsWith('Error')) continue;
      const members = [...(symbol.members?.values() ?? []), ...(symbol.exports?.values() ?? [])];
      for (const member of members) {
        const isMethod = member.flags & ts.SymbolFlags.Method;
        const ofLanguage = member.name === 'then' || /^(__)?[@#]/.test(member.name);
        const isInternal = member.getJsDocTags(checker).some((tag) => tag.name === 'internal');
        if (isMethod && !ofLanguage && !isInternal) read(`${symbol.name}.${member.name}`, member);
      }
    }
  }
  return found;
}

/** Exported for typing or for tests of programs, where the description says all. */
const without = new Set(['json']);

let api: Documented[];
beforeAll(() => {
  api = readApi(ts.createProgram(entries, compilerOptions));
});

it('gives every public method one example', () => {
  expect(api.length).toBeGreaterThan(120);
  const wrong = api.filter(({ name, examples }) => examples.length !== 1 && !without.has(name));
  expect(wrong.map(({ name, examples }) => `${name}: ${examples.length}`)).toEqual([]);
});

it('keeps examples short', () => {
  const long = api.filter(({ examples }) => examples.some((text) => text.split('\n').length > 6));
  expect(long.map(({ name }) => name)).toEqual([]);
});

it('names the operation last, behind all that a reader looks for', () => {
  const wrong = api.filter(({ tags }) => tags.includes('wire') && tags.indexOf('wire') !== tags.length - 1);
  expect(wrong.map(({ name }) => name)).toEqual([]);
});

it('has examples that the compiler accepts', { timeout: 120_000 }, () => {
  const blocks = api.flatMap(({ name, examples }) =>
    examples.map((text) => `// ${name}\nexport async function _${blockName(name)}() {\n${text}\n}\n`),
  );
  const text = `${prelude}\n${blocks.join('\n')}`;
  const host = ts.createCompilerHost(compilerOptions);
  const { getSourceFile, fileExists, readFile } = host;
  host.getSourceFile = (file, version, ...rest) =>
    file === examplesFile
      ? ts.createSourceFile(file, text, version, true)
      : getSourceFile.call(host, file, version, ...rest);
  host.fileExists = (file) => file === examplesFile || fileExists.call(host, file);
  host.readFile = (file) => (file === examplesFile ? text : readFile.call(host, file));
  const program = ts.createProgram([examplesFile], compilerOptions, host);
  const source = program.getSourceFile(examplesFile);
  const problems = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  expect(problems.map((problem) => describeProblem(problem, text))).toEqual([]);
});

let blocksNamed = 0;
const blockName = (name: string) => `${name.replace(/\W/g, '_')}_${++blocksNamed}`;

/** The method whose example it is in, the line, and what is wrong. */
function describeProblem({ messageText, start = 0 }: ts.Diagnostic, text: string): string {
  const before = text.slice(0, start);
  const method = before.slice(before.lastIndexOf('\n// ') + 4).split('\n', 1)[0];
  const line = text.slice(before.lastIndexOf('\n') + 1).split('\n', 1)[0];
  return `${method}: ${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
}
