import type { CodeBlock } from '@svc/support/testing/code-blocks';
import ts from 'typescript';
import { markOf, printedBy } from './shown-output.js';

/** A program made of blocks of a page. Its lines are those of the page, so that what is said of it holds for the page. */
export interface PageProgram {
  page: string;
  blocks: CodeBlock[];
  text: string;
}

/** Languages whose blocks make one program. */
export const isProgram = ({ language }: CodeBlock) => language === 'ts' || language === 'js';

/**
 * The programs of a page: one, and another one from each block on that says `anew`. Each block is nested in the one above it:
 * it sees the names of that, and may take them again. What `await using` holds is let go at the end of the program.
 */
export function programsOf(blocks: readonly CodeBlock[], lines: number): PageProgram[] {
  const programs: CodeBlock[][] = [];
  for (const block of blocks.filter(isProgram)) {
    if (programs.length === 0 || block.anew) programs.push([]);
    programs.at(-1)!.push(block);
  }
  return programs.map((each) => ({ page: each[0]!.page, blocks: each, text: textOf(each, lines) }));
}

function textOf(blocks: readonly CodeBlock[], lineCount: number): string {
  const lines = Array<string>(lineCount + 1).fill('');
  const imports = new Imports();
  for (const block of blocks) {
    lines[block.line - 2] = `{ console.log(${JSON.stringify(markOf(block.line - 1))});`;
    for (const [at, line] of imports.takeFrom(block).split('\n').entries())
      lines[block.line - 1 + at] = withMark(line, block.line + at);
  }
  lines[0] = `${imports.text()} ${lines[0]}`;
  lines[lineCount] = `${'}'.repeat(blocks.length)} export {};`;
  return lines.join('\n');
}

/** A line whose comment says what it prints, with a mark behind what it prints in place of the comment. */
function withMark(line: string, number: number): string {
  const printed = printedBy(line);
  return printed === undefined ? line : `${printed.code} console.log(${JSON.stringify(markOf(number))});`;
}

/** Imports of all blocks, which stand at the top of a program. */
class Imports {
  readonly #named = new Map<string, { module: string; specifier: string }>();
  readonly #others = new Set<string>();

  /** Takes the imports out of a block's code, whose lines stay where they are. */
  takeFrom({ page, line, code }: CodeBlock): string {
    const source = ts.createSourceFile('block.ts', code, ts.ScriptTarget.ESNext, true);
    let rest = code;
    for (const statement of source.statements.filter(ts.isImportDeclaration)) {
      const { importClause, moduleSpecifier } = statement;
      const module = (moduleSpecifier as ts.StringLiteral).text;
      const bindings = importClause?.namedBindings;
      if (importClause?.name === undefined && bindings && ts.isNamedImports(bindings)) {
        const isType = importClause!.isTypeOnly;
        for (const element of bindings.elements) this.#add(`${page}:${line}`, module, element, isType);
      } else this.#others.add(statement.getText(source));
      const [from, to] = [statement.getStart(source), statement.end];
      rest = rest.slice(0, from) + rest.slice(from, to).replace(/[^\n]/g, ' ') + rest.slice(to);
    }
    return rest;
  }

  #add(at: string, module: string, element: ts.ImportSpecifier, isType: boolean): void {
    const [name, original] = [element.name.text, element.propertyName?.text];
    const known = this.#named.get(name);
    if (known && known.module !== module)
      throw new Error(`${at}: ${name} was imported from ${known.module} above: let the fence say \`anew\``);
    const specifier = original === undefined ? name : `${original} as ${name}`;
    if (known === undefined || known.specifier.startsWith('type '))
      this.#named.set(name, {
        module,
        specifier: isType || element.isTypeOnly ? `type ${specifier}` : specifier,
      });
  }

  text(): string {
    const named = [...this.#named.values()].map(
      ({ module, specifier }) => `import { ${specifier} } from '${module}';`,
    );
    return [...named, ...this.#others].join(' ');
  }
}
