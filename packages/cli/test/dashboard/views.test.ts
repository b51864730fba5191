import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { Template } from '@svc/sdk';
import { chromium } from '@svc/support/testing/chromium';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stage, startStage } from './stage.js';

/** What would run, turn the page around, or break its layout, were it taken for more than text. */
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
  let stage: Stage;
  let receiver: Server;
  let sandboxId: string;
  let templateId: string;
  let webhookId: string;
  /** The directory with files of hostile names. */
  let names: string;
  beforeAll(async () => {
    stage = await startStage();
    const { client } = stage;
    receiver = createServer((request, response) => {
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
    await stage.local.server.sampleNow();
  });
  afterAll(async () => {
    receiver?.close();
    receiver?.closeAllConnections();
    await stage?.[Symbol.asyncDispose]();
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
      ['a sandbox that is not there', '#/default/sandboxes/inothere', text('There is no sandbox')],
    ];
  };

  it.each(['light', 'dark'] as const)('has nothing that axe calls serious, in %s', async (theme) => {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    const { page, context, problems } = await stage.signedIn(theme);
    const findings: unknown[] = [];
    for (const [name, hash, whole] of views()) {
      await page.goto(`${stage.url}${hash}`);
      await whole(page);
      await page.evaluate(axe);
      const { violations } = await page.evaluate<{ violations: Finding[] }>('axe.run()');
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
    }
    expect(findings).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('shows what strangers wrote as text', async () => {
    const { page, context, problems } = await stage.signedIn();
    await page.goto(`${stage.url}#/default/sandboxes/${sandboxId}/logs`);
    const log = page.getByRole('log');
    await log.getByText('window.taken=2').first().waitFor();
    await log.getByText('⟨U+202E⟩gnp.exe').first().waitFor();
    expect((await log.textContent())?.length).toBeLessThan(2_000_000);
    await page.goto(`${stage.url}#/default/webhooks/${webhookId}`);
    await page.getByRole('button', { name: 'created' }).click();
    await page.getByText('Answered: 500').last().waitFor();
    await page.goto(`${stage.url}#/default/sandboxes/${sandboxId}/files`);
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

  it('keeps what it shows while the server does not answer, and goes on afterwards', async () => {
    const { page, context } = await stage.signedIn();
    await page.getByRole('link', { name: sandboxId }).waitFor();
    await page.route('**/dashboard/api/**', (route) => route.abort());
    await page.getByRole('alert').getByText('The server does not answer').waitFor();
    expect(await page.getByRole('link', { name: sandboxId }).count()).toBe(1);
    await page.unroute('**/dashboard/api/**');
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await context.close();
  });

  it('can be used with the keyboard alone', async () => {
    const { page, context } = await stage.signedIn();
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
});
