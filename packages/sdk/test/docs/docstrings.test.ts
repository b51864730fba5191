import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';

const entry = fileURLToPath(new URL('../../src/index.ts', import.meta.url));
const program = ts.createProgram([entry], {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  customConditions: ['@svc/source'],
  skipLibCheck: true,
  noEmit: true,
  strict: true,
});
const checker = program.getTypeChecker();

/** Classes whose methods talk to the service: each such method names what it stands on. */
const resources = new Set(['Client', 'Sandbox', 'Sandboxes', 'Commands', 'Command', 'Pty', 'PtySession']);
/** Methods of those that send nothing of their own. */
const local = new Set([
  'Client.close',
  'Client.platform',
  'Command.wait',
  'Command.disconnect',
  'PtySession.wait',
  'PtySession.disconnect',
  'Sandbox.routeTo',
  'Sandbox.url',
  'Sandbox.host',
]);

function exportedSymbols(): ts.Symbol[] {
  const source = program.getSourceFile(entry);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error('The entry has no exports');
  return checker
    .getExportsOfModule(module)
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
    .filter((symbol) =>
      symbol.declarations?.some((node) => node.getSourceFile().fileName.includes('/packages/sdk/src/')),
    );
}

const documented = (symbol: ts.Symbol) => symbol.getDocumentationComment(checker).length > 0;
const hasWire = (symbol: ts.Symbol) => symbol.getJsDocTags(checker).some(({ name }) => name === 'wire');

it('documents every exported symbol', () => {
  const symbols = exportedSymbols();
  expect(symbols.length).toBeGreaterThan(80);
  expect(symbols.filter((symbol) => !documented(symbol)).map(({ name }) => name)).toEqual([]);
});

it('documents every public method, and names the operation of each that talks to the service', () => {
  const undocumented: string[] = [];
  const wireless: string[] = [];
  let methods = 0;
  for (const symbol of exportedSymbols()) {
    if (!resources.has(symbol.name)) continue;
    const instance = checker.getDeclaredTypeOfSymbol(symbol).getProperties();
    const statics = [...(symbol.exports?.values() ?? [])].filter(
      ({ flags }) => flags & ts.SymbolFlags.Method,
    );
    for (const member of [...instance, ...statics]) {
      const isPrivate = member.name.startsWith('__#') || member.name.startsWith('#');
      if (isPrivate || !(member.flags & ts.SymbolFlags.Method)) continue;
      const name = `${symbol.name}.${member.name}`;
      methods++;
      const isWellKnown = member.name.startsWith('__@');
      if (!documented(member)) undocumented.push(name);
      if (!isWellKnown && !local.has(name) && !hasWire(member)) wireless.push(name);
    }
  }
  expect(methods).toBeGreaterThan(40);
  expect({ undocumented, wireless }).toEqual({ undocumented: [], wireless: [] });
});
