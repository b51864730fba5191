import ts from 'typescript';

/** Compiler options for programs that documentation shows: as strict as an application may be. */
export const compilerOptions: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.esnext.disposable.d.ts'],
  types: ['node'],
  customConditions: ['@svc/source'],
  skipLibCheck: true,
  noEmit: true,
  strict: true,
};
