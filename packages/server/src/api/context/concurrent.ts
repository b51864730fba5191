/**
 * Works through items, so many at the same time: whoever is done takes the next one, so that a slow one holds up its place in the row
 * and not all others.
 * @throws the first failure; what is under way then goes on
 */
export async function concurrently<T>(
  items: Iterable<T>,
  count: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items].values();
  const takeNext = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: count }, takeNext));
}
