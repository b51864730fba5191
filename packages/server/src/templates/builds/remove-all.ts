import { removeTree } from '@svc/runtime';

/**
 * Removes trees one after another; one that cannot be removed does not save the others. Programs may still change them.
 * @throws {AggregateError} of what went wrong, after the last one.
 */
export async function removeAll(trees: readonly string[]): Promise<void> {
  const problems: unknown[] = [];
  for (const tree of trees) await removeTree(tree).catch((error: unknown) => problems.push(error));
  if (problems.length > 0) throw new AggregateError(problems, 'some files could not be removed');
}
