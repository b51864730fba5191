import { Client } from '@svc/sdk';
import { launchChromium } from '@svc/support/testing/chromium';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { type LocalServer, startLocalServer } from '../support/local-server.js';

/** A server, a browser, and what the tests of the dashboard do with both. */
export interface Fixture extends AsyncDisposable {
  local: LocalServer;
  client: Client;
  /** Address of the dashboard. */
  url: string;
  browser: Browser;
  /** A page of a browser that knows nothing yet, and everything that went wrong in it. */
  open(theme?: 'light' | 'dark'): Promise<{ page: Page; context: BrowserContext; problems: string[] }>;
  /** The same, signed in. */
  signedIn(theme?: 'light' | 'dark'): Promise<{ page: Page; context: BrowserContext; problems: string[] }>;
}

export async function startFixture(driver?: 'process' | 'linux'): Promise<Fixture> {
  const local = await startLocalServer(driver);
  const { apiUrl, sandboxUrl, apiKey, operatorUrl, operatorToken } = local.server;
  const launched = await launchChromium([Number(new URL(operatorUrl ?? '').port)]);
  const { browser } = launched;
  const fixture: Fixture = {
    local,
    client: new Client({ apiUrl, sandboxUrl, apiKey, logLevel: 'off' }),
    url: `${operatorUrl}/dashboard/`,
    browser,
    open: async (theme = 'light') => {
      const context = await browser.newContext({
        colorScheme: theme,
        viewport: { width: 1360, height: 860 },
      });
      context.setDefaultTimeout(150_000);
      const page = await context.newPage();
      const problems: string[] = [];
      page.on('pageerror', (error) => problems.push(String(error)));
      page.on('console', (message) => {
        // The browser's message on refused answers is expected; its message on a broken policy is not.
        if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
          problems.push(message.text());
      });
      return { page, context, problems };
    },
    signedIn: async (theme) => {
      const opened = await fixture.open(theme);
      await opened.page.goto(fixture.url);
      await opened.page.getByLabel('Operator token').fill(operatorToken);
      await opened.page.getByRole('button', { name: 'Sign in' }).click();
      await opened.page.getByRole('heading', { name: 'Sandboxes' }).waitFor();
      return opened;
    },
    [Symbol.asyncDispose]: async () => {
      await launched[Symbol.asyncDispose]();
      await local[Symbol.asyncDispose]();
    },
  };
  return fixture;
}
