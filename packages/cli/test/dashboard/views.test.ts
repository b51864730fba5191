import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { Template } from '@svc/sdk';
import { OperatorClient } from '@svc/sdk/operator';
import { eventually } from '@svc/support/eventually';
import { chromium } from '@svc/support/testing/chromium';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, startFixture } from './fixture.js';

/** Texts that would run, turn the page around, or break its layout, were they taken for more than text. */
const hostile = [
  '<img src=x onerror="window.taken=1"><script>window.taken=2</script>',
  '\u202Egnp.exe\u2066',
  '"><svg onload=window.taken=3>',
  "javascript:window.taken='4'",
];

interface Finding {
  impact: string | null;
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

describe.skipIf(chromium === undefined)('every view of the dashboard', () => {
  let fixture: Fixture;
  let operator: OperatorClient;
  let receiver: Server;
  let sandboxId: string;
  let templateId: string;
  let webhookId: string;
  /** Of what the webhook was sent. */
  const receivedIds: unknown[] = [];
  /** The directory with files of hostile names. */
  let names: string;
  beforeAll(async () => {
    fixture = await startFixture();
    const { client } = fixture;
    const { operatorUrl, operatorToken } = fixture.local.server;
    operator = new OperatorClient({ operatorUrl: operatorUrl!, token: operatorToken });
    await operator.teams.create({ slug: 'strangers', name: `${hostile[0]}${hostile[1]}` });
    for (const name of hostile) await operator.teams.keys.create('strangers', name);
    await operator.teams.block('strangers', { reason: hostile[1]!.repeat(20) });
    receiver = createServer((request, response) => {
      receivedIds.push(request.headers['webhook-id']);
      request.resume();
      response.statusCode = 500;
      response.end(hostile[0]);
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const webhook = await client.webhooks.create({
      name: hostile[2]!,
      url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`,
      events: ['sandbox.lifecycle.created'],
      signatureSecret: 'x'.repeat(32),
    });
    webhookId = webhook.id;
    await client.secrets.create({
      name: 'of-the-team',
      value: 'never shown',
      metadata: { note: hostile[0]! },
    });
    await client.volumes.create('data');
    const build = await client.templates.build(Template.from('base').run(`echo '${hostile[0]}'`), {
      name: 'built',
    });
    await build.wait();
    templateId = build.templateId;
    const metadata = Object.fromEntries(hostile.map((text, index) => [`${index} ${text}`, text.repeat(20)]));
    const sandbox = await client.sandboxes.create({ metadata, timeoutMs: 1_800_000 });
    sandboxId = sandbox.id;
    await sandbox.commands.run(
      `printf '%s\\n' "$LINES"; head -c 1000000 /dev/zero | tr '\\0' A; echo; printf '\\033]0;x\\007\\033[31mred\\033[0m\\n'`,
      { envs: { LINES: hostile.join('\n') } },
    );
    const [first] = await sandbox.files.writeMany(
      [...hostile.map((name) => name.replaceAll('/', '_')), 'long'.repeat(60)].map((name) => ({
        path: `names/${name}`,
        data: hostile[0]!,
      })),
    );
    names = dirname(first!.path);
    await fixture.local.server.sampleNow();
  });
  afterAll(async () => {
    receiver?.close();
    receiver?.closeAllConnections();
    await fixture?.[Symbol.asyncDispose]();
  });

  /** Each view, and what is there once it is whole. */
  const views = (): [name: string, hash: string, whole: (page: Page) => Promise<unknown>][] => {
    const sandbox = `#/default/sandboxes/${sandboxId}`;
    const text = (shown: string) => (page: Page) => page.getByText(shown).first().waitFor();
    return [
      ['sandboxes', '#/default/sandboxes', (page) => page.getByRole('link', { name: sandboxId }).waitFor()],
      ['overview', sandbox, (page) => page.getByRole('img', { name: /CPU/ }).waitFor()],
      [
        'logs',
        `${sandbox}/logs`,
        (page) => page.getByRole('log').getByText('red', { exact: true }).waitFor(),
      ],
      [
        'terminal',
        `${sandbox}/terminal`,
        (page) => page.locator('.xterm-rows').getByText(/[$#]/).first().waitFor(),
      ],
      [
        'files',
        `${sandbox}/files`,
        (page) =>
          page.getByRole('table', { name: 'Files' }).or(page.getByText('This directory is empty')).waitFor(),
      ],
      ['network', `${sandbox}/network`, text('No connection was decided yet')],
      [
        'forks',
        `${sandbox}/forks`,
        (page) => page.getByRole('listitem').getByRole('link', { name: sandboxId }).waitFor(),
      ],
      ['events', `${sandbox}/events`, text('created')],
      ['templates', '#/default/templates', text('built')],
      [
        'template',
        `#/default/templates/${templateId}`,
        (page) => page.getByRole('log').getByText('finalize').first().waitFor(),
      ],
      ['volumes', '#/default/volumes', text('data')],
      ['secrets', '#/default/secrets', text('of-the-team')],
      ['webhooks', '#/default/webhooks', text('enabled')],
      ['webhook', `#/default/webhooks/${webhookId}`, text('In 24 hours')],
      ['server', '#/default/server', (page) => page.getByRole('img', { name: /Requests/ }).waitFor()],
      ['teams', '#/default/teams', text('Longest run')],
      [
        'team',
        '#/strangers/teams/strangers',
        (page) => page.getByRole('img', { name: /Egress an hour/ }).waitFor(),
      ],
      [
        'keys',
        '#/strangers/teams/strangers/keys',
        (page) => page.getByRole('cell', { name: /taken=1/ }).waitFor(),
      ],
      [
        'a team that is not there',
        `#/default/teams/${encodeURIComponent(hostile[1]!)}`,
        text('There is no team ⟨U+202E⟩gnp.exe'),
      ],
      [
        'limits',
        '#/strangers/teams/strangers',
        async (page) => {
          await page.getByRole('button', { name: 'Set limits' }).click();
          await page.getByLabel('Storage').fill('much');
          await page.keyboard.press('Enter');
          await page.getByRole('alert').waitFor();
        },
      ],
      [
        'audit',
        '#/default/audit?last=between',
        (page) => page.getByRole('button', { name: 'createSecret' }).first().waitFor(),
      ],
      [
        'entry',
        '#/default/audit?operation=createVolume',
        async (page) => {
          await page.getByRole('button', { name: 'createVolume' }).first().click();
          await page.getByText('Link to this entry').waitFor();
        },
      ],
      ['a sandbox that is not there', '#/default/sandboxes/inothere', text('There is no sandbox')],
    ];
  };

  it.each(['light', 'dark'] as const)('has nothing that axe calls serious, in %s', async (theme) => {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    const { page, context, problems } = await fixture.signedIn(theme);
    const findings: unknown[] = [];
    const wide = page.viewportSize()!;
    for (const [name, hash, whole] of views()) {
      await page.goto(`${fixture.url}${hash}`);
      await whole(page);
      await page.evaluate(axe);
      // In the dark nothing but colours is different.
      const rules =
        theme === 'light' ? '' : 'document, { runOnly: ["color-contrast", "link-in-text-block"] }';
      const { violations } = await page.evaluate<{ violations: Finding[] }>(`axe.run(${rules})`);
      for (const { impact, id, nodes } of violations)
        if (impact === 'serious' || impact === 'critical')
          findings.push({
            view: name,
            id,
            html: nodes.map(({ html, failureSummary }) => [html, failureSummary]),
          });
      // Nothing is wider than the page, and nothing that a stranger wrote ran or turned text around.
      const found = await page.evaluate(
        '[document.documentElement.scrollWidth - innerWidth, String(window.taken), document.querySelectorAll("main script, main img").length]',
      );
      expect([name, found]).toEqual([name, [0, 'undefined', 0]]);
      expect(await page.evaluate('document.body.innerText')).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
      if (theme === 'dark') continue;
      await page.setViewportSize({ ...wide, width: 600 });
      const beyond = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect([name, beyond]).toEqual([name, 0]);
      await page.setViewportSize(wide);
    }
    expect(findings).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('shows what strangers wrote as text', async () => {
    const { page, context, problems } = await fixture.signedIn();
    await page.goto(`${fixture.url}#/default/sandboxes/${sandboxId}/logs`);
    const log = page.getByRole('log');
    await log.getByText('window.taken=2').first().waitFor();
    await log.getByText('⟨U+202E⟩gnp.exe').first().waitFor();
    expect((await log.textContent())?.length).toBeLessThan(2_000_000);
    await page.goto(`${fixture.url}#/default/webhooks/${webhookId}`);
    await page.getByRole('button', { name: 'created' }).click();
    await page.getByText('Answered: 500').last().waitFor();
    await page.goto(`${fixture.url}#/default/sandboxes/${sandboxId}/files`);
    await page.getByLabel('As user').selectOption({ label: "the sandbox's own" });
    await page.getByLabel('Directory', { exact: true }).fill(names);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: '⟨U+202E⟩gnp.exe⟨U+2066⟩', exact: true }).click();
    await page.getByText(hostile[0]!, { exact: true }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    expect(await page.evaluate('window.taken')).toBeUndefined();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('sends an event again, and shows the attempts of before and after', async () => {
    const { page, context, problems } = await fixture.signedIn();
    await page.goto(`${fixture.url}#/default/webhooks/${webhookId}`);
    const row = page.getByRole('table', { name: 'Deliveries' }).getByRole('row').nth(1);
    // The button can be used once all four attempts have failed.
    await row.getByRole('button', { name: 'Send again' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(receivedIds).toHaveLength(4);
    await row.getByRole('button', { name: 'Send again' }).click();
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await dialog.waitFor({ state: 'detached' });
    await eventually('four more attempts', async () => {
      const { items } = await fixture.client.webhooks.deliveries(webhookId, { status: 'failed' });
      return items[0]?.attempts.length === 8;
    });
    expect(receivedIds).toHaveLength(8);
    expect(new Set(receivedIds).size).toBe(1);
    await fixture.client.webhooks.update(webhookId, { enabled: false });
    await page.reload();
    await row.getByRole('cell', { name: '8', exact: true }).waitFor();
    await row.getByText('failed').waitFor();
    await page.getByText('disabled', { exact: true }).waitFor();
    expect(await row.getByRole('button', { name: 'Send again' }).isDisabled()).toBe(true);
    await fixture.client.webhooks.update(webhookId, { enabled: true });
    expect(problems).toEqual([]);
    await context.close();
  });

  it('keeps what it shows while the server does not answer, and continues afterwards', async () => {
    const { page, context } = await fixture.signedIn();
    await page.getByRole('link', { name: sandboxId }).waitFor();
    await page.route('**/dashboard/api/**', (route) => route.abort());
    await page.getByRole('alert').getByText('The server does not answer').waitFor();
    expect(await page.getByRole('link', { name: sandboxId }).count()).toBe(1);
    await page.unroute('**/dashboard/api/**');
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await context.close();
  });

  it('can be used with the keyboard alone', async () => {
    const { page, context } = await fixture.signedIn();
    await page.getByRole('link', { name: sandboxId }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: sandboxId }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    await page.getByRole('heading', { name: 'Server', exact: true }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('next and previous row').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await page.getByRole('link', { name: sandboxId }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('no-such-template');
    await page.getByText('No sandbox fits these filters').waitFor();
    await context.close();
  });

  it('shows the audit trail as it grows, as the address narrows it', async () => {
    const { page, context, problems } = await fixture.signedIn();
    await page.goto(`${fixture.url}#/default/audit?operation=createVolume`);
    const entries = page.getByRole('button', { name: 'createVolume' });
    await entries.first().waitFor();
    const before = await entries.count();
    const { volumeId } = await fixture.client.volumes.create('followed');
    await page.getByRole('row').filter({ hasText: volumeId }).waitFor();
    expect(await entries.count()).toBe(before + 1);
    // By the keyboard: the first row, its entry, the row below.
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Link to this entry' }).waitFor();
    await page.keyboard.press('j');
    await entries.nth(1).and(page.locator(':focus')).waitFor();
    await page.getByRole('link', { name: 'All about this volume' }).click();
    await page.getByRole('link', { name: 'Link to this entry' }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).hash).toContain(`resource=${volumeId}`);
    await page.getByRole('row').filter({ hasText: volumeId }).waitFor();
    expect(await entries.count()).toBe(1);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { operation: 'createVolume', resource: { kind: 'volume', id: volumeId }, actor: { kind: 'key' } },
    ]);
    await page.getByLabel('Outcome').selectOption('failed');
    await page.getByText('No entry fits these filters').waitFor();
    expect(new URL(page.url()).hash).toContain('outcome=failed');
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.getByRole('button', { name: 'createSecret' }).first().waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('sets limits of a team once they make sense, and says what they do', async () => {
    const { page, context, problems } = await fixture.signedIn();
    await page.goto(`${fixture.url}#/default/teams/default`);
    await page.getByText('of 500').waitFor();
    await page.getByRole('button', { name: 'Set limits' }).click();
    const dialog = page.getByRole('dialog');
    const set = dialog.getByRole('button', { name: 'Set limits' });
    await set.click();
    await dialog.getByText('Nothing is changed yet').waitFor();
    await dialog.getByLabel('Storage').fill('50');
    await set.click();
    await dialog.getByRole('alert').getByText('Storage: Write a number with its unit').waitFor();
    await dialog.getByLabel('Storage').fill('50 GiB');
    await dialog.getByLabel('Sandboxes at once').fill('1');
    await dialog.getByText('running ones continue, and nothing more starts').waitFor();
    await dialog.getByLabel('Longest run').fill('12 h');
    await page.route('**/operator/teams/*', (route) => route.abort());
    await set.click();
    await dialog.getByRole('alert').getByText('The server does not answer').waitFor();
    await page.unroute('**/operator/teams/*');
    await set.click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('of 50 GiB').waitFor();
    await page.getByText('nothing left').waitFor();
    const { limits, ownLimits } = await operator.teams.get('default');
    expect(limits).toMatchObject({
      maxStorageMiB: 51_200,
      maxConcurrentSandboxes: 1,
      maxTimeoutMs: 43_200_000,
    });
    expect(ownLimits.length).toBe(3);
    await page.getByRole('button', { name: 'Set limits' }).click();
    for (const label of ['Storage', 'Sandboxes at once', 'Longest run'])
      await dialog.getByLabel(label).fill('');
    await set.click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('of 500').waitFor();
    expect((await operator.teams.get('default')).ownLimits).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('shows what sandboxes use, asked for those alone whose rows are seen and that run', async () => {
    const paused = await fixture.client.sandboxes.create({ timeoutMs: 600_000 });
    await paused.pause();
    const { page, context, problems } = await fixture.signedIn();
    const asked: string[] = [];
    page.on('request', (request) => {
      const ids = new URL(request.url()).searchParams.get('sandbox_ids');
      if (ids !== null) asked.push(ids);
    });
    await page.reload();
    const row = (id: string) => page.getByRole('row').filter({ hasText: id });
    await row(sandboxId)
      .getByText(/[\d.]+ %/)
      .waitFor();
    await row(sandboxId)
      .getByText(/[\d.]+ MiB/)
      .waitFor();
    await row(paused.id).getByTitle('Paused: it uses none.').first().waitFor();
    expect(new Set(asked)).toEqual(new Set([sandboxId]));
    await paused.kill();
    expect(problems).toEqual([]);
    await context.close();
  });
});
