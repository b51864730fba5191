import { readFileSync } from 'node:fs';

/** Where an answer is produced that no case of the run on whole services brings about. */
export interface Reason {
  document: string;
  /** `*`: every operation of the document that has no reason of its own. */
  operation: string;
  status: string;
  /** File of the test, from the root of the repository. */
  test: string;
  /** The means that it takes. */
  how: string;
}

/** Reads `reasons.txt`. @throws {Error} for a line that is not `document operation status | test | how` */
export function readReasons(): Reason[] {
  const text = readFileSync(new URL('./reasons.txt', import.meta.url), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [of = '', test, how] = line.split(' | ');
      const [document, operation, status] = of.split(' ');
      if (!document || !operation || !status || !test || !how) throw new Error(`reasons.txt: ${line}`);
      return { document, operation, status, test, how };
    });
}

export function reasonFor(
  reasons: readonly Reason[],
  cell: { document: string; operation: string; status: string },
): Reason | undefined {
  const of = (operation: string) =>
    reasons.find(
      (one) => one.document === cell.document && one.operation === operation && one.status === cell.status,
    );
  return of(cell.operation) ?? of('*');
}
