/**
 * Works through items, a number of them at the same time: each worker takes the next item, so that a slow one delays its own worker
 * and not all others.
 * @throws the first failure; the work under way then continues
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
