import { chromium } from '@svc/support/testing/chromium';
import { expect, it } from 'vitest';
import { startFixture } from './fixture.js';

const COUNT = 5_000;

/** `SVC_HEAVY=1`: what a team with thousands of sandboxes costs the browser. */
it.skipIf(process.env.SVC_HEAVY !== '1' || chromium === undefined)(
  `shows a team of ${COUNT} sandboxes`,
  async () => {
    await using fixture = await startFixture();
    const { db } = fixture.local.server.context;
    const made = await fixture.client.sandboxes.create({ metadata: { owner: 'ada' }, timeoutMs: 3_600_000 });
    await made.pause();
    const row = await db
      .selectFrom('sandboxes')
      .selectAll()
      .where('id', '=', made.id)
      .executeTakeFirstOrThrow();
    // Records of paused sandboxes: the list reads nothing else.
    const rows = Array.from({ length: COUNT }, (_, index) => ({
      ...row,
      id: `i${String(index).padStart(20, '0')}`,
      node_id: 'elsewhere',
      checkpoint_id: null,
      started_at: Number(row.started_at) + index * 1_000,
    }));
    for (let start = 0; start < COUNT; start += 250)
      await db
        .insertInto('sandboxes')
        .values(rows.slice(start, start + 250))
        .execute();

    const { page, problems } = await fixture.signedIn();
    await page.getByRole('link', { name: rows.at(-1)!.id }).waitFor();
    const begun = performance.now();
    await page.reload();
    await page.getByRole('link', { name: rows.at(-1)!.id }).waitFor();
    const listMs = performance.now() - begun;
    const paintMs = await page.evaluate<number>(
      'performance.getEntriesByName("first-contentful-paint")[0].startTime',
    );
    const before = await heapOf();
    const turned = performance.now();
    for (let turn = 1; turn < COUNT / 100; turn += 1) {
      await page.getByRole('button', { name: 'Next' }).click();
      await page.getByText(`Page ${turn + 1}, 100 entries`).waitFor();
    }
    const pageMs = (performance.now() - turned) / (COUNT / 100 - 1);
    const after = await heapOf();
    const rowsShown = await page.locator('tbody tr').count();
    console.log(
      `5,000 sandboxes: first contentful paint ${paintMs.toFixed(0)} ms, list whole ${listMs.toFixed(0)} ms, a further page ${pageMs.toFixed(0)} ms; ` +
        `heap ${(before / 2 ** 20).toFixed(1)} MiB, after ${COUNT / 100} pages ${(after / 2 ** 20).toFixed(1)} MiB; ${rowsShown} rows in the document`,
    );
    expect(rowsShown).toBe(100);
    expect(after).toBeLessThan(before + 30 * 2 ** 20);
    expect(problems).toEqual([]);

    /** Returns the size of the page once garbage is collected, bytes. */
    async function heapOf(): Promise<number> {
      const session = await page.context().newCDPSession(page);
      await session.send('HeapProfiler.collectGarbage');
      const { usedSize } = await session.send('Runtime.getHeapUsage');
      await session.detach();
      return usedSize;
    }
  },
);
