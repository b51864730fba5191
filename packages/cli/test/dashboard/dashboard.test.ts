import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { chromium } from '@svc/support/testing/chromium';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/run-cli.js';
import { type Fixture, startFixture } from './fixture.js';

describe.skipIf(chromium === undefined)('the dashboard', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await startFixture();
  });
  afterAll(() => fixture?.[Symbol.asyncDispose]());

  it('refuses a wrong token, and signs in with the right one for as long as the session lasts', async () => {
    const { page, context, problems } = await fixture.open();
    await page.goto(fixture.url);
    await page.getByLabel('Operator token').fill('svcop_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('this is not the operator token').waitFor();
    await page.getByLabel('Operator token').fill(fixture.local.server.operatorToken);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('No sandboxes', { exact: true }).waitFor();
    const [cookie] = await context.cookies(fixture.url);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/dashboard' });
    const kept = await page.evaluate(
      'JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie',
    );
    expect(kept).not.toContain(fixture.local.server.operatorToken);
    expect(kept).not.toContain(cookie?.value);
    await page.reload();
    await page.getByText('No sandboxes', { exact: true }).waitFor();
    // The half of the session that the browser sends by itself is missing.
    await context.clearCookies();
    await page.getByText('You are signed out').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('loads although some of its files do not come at first, and says so when they never do', async () => {
    const { page, context, problems } = await fixture.open();
    let refused = 0;
    await page.route('**/assets/chunk-*', (route) => {
      refused += 1;
      return refused <= 2 ? route.abort('failed') : route.continue();
    });
    await page.goto(fixture.url);
    await page.getByLabel('Operator token').waitFor();
    expect(refused).toBeGreaterThan(2);
    await page.route('**/assets/chunk-*', (route) => route.abort('failed'));
    await page.reload();
    await page.getByRole('alert').getByText('could not be loaded').waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByLabel('Operator token').waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('is opened by a link of the command line, which works once', async () => {
    const env = {
      ...fixture.local.env,
      SVC_OPERATOR_URL: fixture.local.server.operatorUrl ?? '',
      SVC_OPERATOR_TOKEN: fixture.local.server.operatorToken,
    };
    const link = (await runCli(['dashboard', '--no-open'], { env })).stdout.trim();
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/dashboard\/#code=[\w-]{43}$/);
    const { page, context } = await fixture.open();
    await page.goto(link);
    await page.getByRole('heading', { name: 'Sandboxes' }).waitFor();
    expect(page.url()).not.toContain('code');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    const other = await fixture.open();
    await other.page.goto(link);
    await other.page.getByRole('alert').getByText('used before or is too old').waitFor();
    await context.close();
    await other.context.close();
  });

  it('lists sandboxes as they come and go, filters them, and shows and kills one', async () => {
    const { page, context, problems } = await fixture.signedIn();
    const sandbox = await fixture.client.sandboxes.create({ metadata: { owner: 'ada' }, timeoutMs: 600_000 });
    const other = await fixture.client.sandboxes.create({ timeoutMs: 600_000 });
    await page.getByRole('link', { name: sandbox.id }).waitFor();
    await page.getByLabel('Metadata').fill('owner=ada');
    await page.getByRole('link', { name: other.id }).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: sandbox.id }).click();
    await page.getByText('owner=ada').waitFor();
    await page.getByRole('link', { name: 'Logs' }).click();
    await sandbox.commands.run('echo first line');
    await page.getByRole('log').getByText('first line').waitFor();
    await sandbox.commands.run('echo second line');
    await page.getByRole('log').getByText('second line').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.getByText('paused', { exact: true }).waitFor();
    expect((await sandbox.info()).state).toBe('paused');
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
    await page.getByText('running', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Kill' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect((await sandbox.info()).state).toBe('running');
    await page.getByRole('button', { name: 'Kill' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Kill' }).click();
    await page.getByRole('link', { name: other.id }).waitFor();
    expect(
      await fixture.client.sandboxes.list().then(({ items }) => items.map(({ sandboxId }) => sandboxId)),
    ).toEqual([other.id]);
    await other.kill();
    await page.getByText('No sandboxes', { exact: true }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });

  it('opens a shell, which continues while nobody looks, and shows, brings and takes away files', async () => {
    const { page, context, problems } = await fixture.signedIn();
    await using sandbox = await fixture.client.sandboxes.create({ timeoutMs: 600_000 });
    const { path } = await sandbox.files.write('work/notes.txt', 'kept in the sandbox');
    const view = (tab: string) => page.goto(`${fixture.url}#/default/sandboxes/${sandbox.id}/${tab}`);
    await view('terminal');
    const screen = page.locator('.xterm-rows');
    await page.locator('.xterm-helper-textarea').focus();
    await page.keyboard.type('echo $((6 * 7))and; printf "\\033[38;2;250;10;10mred\\033[0m"\n');
    await screen.getByText('42and').waitFor();
    expect(await screen.getByText('red', { exact: true }).getAttribute('style')).toContain(
      'rgb(250, 10, 10)',
    );
    await view('events');
    await page.getByText('created', { exact: true }).waitFor();
    await view('terminal');
    await screen.getByText('42and').waitFor();
    expect((await sandbox.commands.list()).map(({ tag }) => tag)).toEqual(['dashboard']);
    await page.getByRole('button', { name: 'End shell' }).click();
    await page.getByText('The shell has ended').waitFor();

    await view('files');
    await page.getByLabel('As user').selectOption({ label: "the sandbox's own" });
    await page.getByLabel('Directory', { exact: true }).fill(dirname(path));
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'notes.txt', exact: true }).click();
    await page.getByText('kept in the sandbox').waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download notes.txt' }).click(),
    ]);
    expect(await readFile(await download.path(), 'utf8')).toBe('kept in the sandbox');
    const file = { name: 'brought.bin', mimeType: 'text/html', buffer: Buffer.alloc(3_000_000, 7) };
    await page.getByLabel('Upload').setInputFiles(file);
    await page.getByRole('button', { name: 'brought.bin', exact: true }).waitFor();
    const brought = await sandbox.files.read(path.replace('notes.txt', 'brought.bin'), { format: 'bytes' });
    expect(Buffer.from(brought).equals(file.buffer)).toBe(true);
    expect(problems).toEqual([]);
    await context.close();
  });
});
