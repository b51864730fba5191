import { existsSync } from 'node:fs';

/** The browser of this machine; undefined where there is none. */
export const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);

/** How tests start it: as root, without a display, and without asking anybody for anything. */
export function chromiumOptions(...more: string[]): { executablePath: string; args: string[] } {
  if (chromium === undefined)
    throw new Error('There is no Chromium on this machine: apt-get install chromium');
  return {
    executablePath: chromium,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  };
}
