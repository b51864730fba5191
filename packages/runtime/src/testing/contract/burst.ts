import { expect, it } from 'vitest';
import type { Workbench } from '../workbench.js';

const BURST = 20;

export function burstContract(bench: Workbench): void {
  it(`makes ${BURST} instances at once, every one whole`, async () => {
    const made = await Promise.all(Array.from({ length: BURST }, () => bench.create()));
    const names = await Promise.all(
      made.map(async ({ client, instance }) => {
        await client.output(`echo ${instance.id} > name`);
        return client.output('cat name');
      }),
    );
    expect(names).toEqual(made.map(({ instance }) => instance.id));
    await Promise.all(made.map(({ instance }) => instance.destroy()));
    expect(await bench.driver.list()).toEqual([]);
  }, 180_000);
}
