import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, launchChromium } from '@svc/support/testing/chromium';
import { expect, it } from 'vitest';

/** A page at any free port. */
async function servePage(text: string) {
  const server = createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(`<title>${text}</title>`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { port, url: `http://127.0.0.1:${port}/`, [Symbol.dispose]: close };
}

it.skipIf(chromium === undefined)('gives a browser the ports that a test opens to it', async () => {
  using first = await servePage('first');
  using second = await servePage('second');
  await using opened = await launchChromium([first.port]);
  const page = await opened.browser.newPage();
  await page.goto(first.url);
  expect(await page.title()).toBe('first');
  await opened.reach(second.port);
  await page.goto(second.url);
  expect(await page.title()).toBe('second');
});

it.skipIf(chromium === undefined || process.getuid?.() !== 0)(
  'keeps everything else of the machine from it',
  async () => {
    using other = await servePage('other');
    await using opened = await launchChromium([]);
    const page = await opened.browser.newPage();
    await expect(page.goto(other.url)).rejects.toThrow(/ERR_/);
  },
);
