import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Template } from '@svc/sdk';
import { OperatorClient } from '@svc/sdk/operator';
import { chromium } from '@svc/support/testing/chromium';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { type Fixture, startFixture } from './fixture.js';

/** Uses more and more memory, and the processor now and then. */
const WORK = `import time
kept = []
for step in range(1, 200):
    kept.append(bytearray(step % 7 * 1_000_000))
    until = time.monotonic() + step % 5 / 4
    while time.monotonic() < until:
        pass
    time.sleep(0.7)
`;

const HOUR_MS = 3_600_000;

/** A team with a day of work behind it, which no picture can wait for. */
async function makeTeam({ local }: Fixture): Promise<void> {
  const { operatorUrl, operatorToken, context } = local.server;
  const operator = new OperatorClient({ operatorUrl: operatorUrl!, token: operatorToken });
  const { teamId } = await operator.teams.create({
    slug: 'research',
    limits: { maxConcurrentSandboxes: 20, maxTotalMemoryMiB: 16_384, maxEgressMonthMiB: 4_096 },
  });
  await operator.teams.update('research', { limits: { maxTimeoutMs: 12 * HOUR_MS } });
  await operator.teams.keys.create('research', 'notebooks');
  await operator.teams.keys.delete('research', teamId);
  const now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const rows = Array.from({ length: 24 }, (_, back) => {
    const busy = Math.max(0.3, 5 * Math.sin((back / 24) * Math.PI) + Math.sin(back * 2));
    return {
      team_id: teamId,
      hour: now - (back + 1) * HOUR_MS,
      sandbox_ms: Math.round(busy * HOUR_MS),
      memory_mib_ms: Math.round(busy * HOUR_MS * 1_024),
      egress_bytes: Math.round(busy * (2 + Math.cos(back)) * 2 ** 24),
      creates: Math.round(busy * 3),
    };
  });
  await context.db.insertInto('team_usage').values(rows).execute();
}

/** Where the pictures of `docs/dashboard.md` go: `SVC_SCREENSHOTS=docs/images`, from the root of the repository. */
const directory = process.env.SVC_SCREENSHOTS ?? '';

it.skipIf(directory === '' || chromium === undefined)('takes the pictures of the documentation', async () => {
  const target = join(import.meta.dirname, '../../../..', directory);
  await mkdir(target, { recursive: true });
  // A sandbox of its own shows nothing of the machine on which the pictures are taken.
  await using fixture = await startFixture('linux');
  const { client } = fixture;
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
  const template = Template.from('base').run('echo installing').run('echo done');
  await (await client.templates.build(template, { name: 'notebook' })).wait();
  const first = made.at(-2)!;
  await made[3]!.pause();
  await first.files.write('work.py', WORK);
  await first.commands.run(work);
  await first.commands.start('python3 work.py');
  for (let turn = 0; turn < 24; turn += 1) {
    await fixture.local.server.sampleNow();
    await sleep(2_000);
  }
  await makeTeam(fixture);
  const light = await fixture.signedIn('light');
  const dark = await fixture.signedIn('dark');
  const take = async (
    from: typeof light,
    name: string,
    hash: string,
    whole: (page: Page) => Promise<unknown>,
  ) => {
    await from.page.goto(`${fixture.url}${hash}`);
    await whole(from.page);
    await from.page.screenshot({ path: join(target, `dashboard-${name}.png`) });
  };
  const sandbox = `#/default/sandboxes/${first.id}`;
  await take(light, 'sandboxes', '#/default/sandboxes', (page) =>
    page.getByRole('link', { name: first.id }).waitFor(),
  );
  await take(dark, 'sandbox', sandbox, (page) =>
    page.getByRole('img', { name: /CPU. CPU: [\d.]+ %/ }).waitFor(),
  );
  await take(light, 'terminal', `${sandbox}/terminal`, async (page) => {
    await page.locator('.xterm-helper-textarea').focus();
    await page.keyboard.type('ls --color=always; head -4 work.py; python3 -c "print(2 ** 64)"\n');
    await page.locator('.xterm-rows').getByText('18446744073709551616').waitFor();
  });
  await take(light, 'template', '#/default/templates', async (page) => {
    await page.getByRole('link', { name: /notebook/ }).click();
    await page.getByRole('log').getByText('finalize').first().waitFor();
  });
  await take(light, 'audit', '#/default/audit', async (page) => {
    await page.getByRole('button', { name: 'pauseSandbox' }).click();
    await page.getByText('Link to this entry').waitFor();
  });
  await take(dark, 'team', '#/research/teams/research', (page) =>
    page.getByRole('img', { name: /Egress an hour/ }).waitFor(),
  );
  // Two looks make a rate.
  await take(dark, 'server', '#/default/server', (page) =>
    page.getByRole('img', { name: /API: [\d.]+\/s/ }).waitFor(),
  );
  expect([...light.problems, ...dark.problems]).toEqual([]);
});
