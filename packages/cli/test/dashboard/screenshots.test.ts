import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { chromium, startStage } from './stage.js';

/** Where the pictures of `docs/dashboard.md` go: `SVC_SCREENSHOTS=docs/images`, from the root of the repository. */
const directory = process.env.SVC_SCREENSHOTS ?? '';

it.skipIf(directory === '' || chromium === undefined)('takes the pictures of the documentation', async () => {
  const target = join(import.meta.dirname, '../../../..', directory);
  await mkdir(target, { recursive: true });
  await using stage = await startStage();
  const { client } = stage;
  const work =
    'for i in $(seq 1 12); do echo "step $i: fetched $((i * 37)) records"; done; echo \'warning: retrying\' >&2';
  const metadata = [
    { owner: 'ada', purpose: 'notebook' },
    { owner: 'grace', purpose: 'build', branch: 'main' },
    { owner: 'alan' },
    {},
  ];
  const made = [];
  for (let index = 0; index < 10; index += 1)
    made.push(await client.sandboxes.create({ metadata: metadata[index % 4]!, timeoutMs: 3_600_000 }));
  const first = made.at(-2)!;
  await made[3]!.pause();
  await first.commands.run(work);
  for (let turn = 0; turn < 12; turn += 1) await stage.local.server.sampleNow();
  for (const theme of ['light', 'dark'] as const) {
    const { page, problems } = await stage.signedIn(theme);
    await page.getByRole('link', { name: first.id }).waitFor();
    await page.screenshot({ path: join(target, `dashboard-sandboxes-${theme}.png`) });
    await page.getByRole('link', { name: first.id }).click();
    await page.getByRole('figure').first().waitFor();
    await page.getByRole('img', { name: /CPU/ }).waitFor();
    await page.screenshot({ path: join(target, `dashboard-sandbox-${theme}.png`) });
    await page.getByRole('link', { name: 'Logs' }).click();
    await page.getByRole('log').getByText('step 12').waitFor();
    await page.screenshot({ path: join(target, `dashboard-logs-${theme}.png`) });
    expect(problems).toEqual([]);
  }
});
