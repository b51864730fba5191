import { spawn } from 'node:child_process';

/** What opens a page on this machine; undefined where there is no screen to show it on. */
export function browserCommand(
  platform: NodeJS.Platform,
  env: Record<string, string | undefined>,
): string | undefined {
  if (platform === 'darwin') return 'open';
  const screen = Boolean(env.DISPLAY) || Boolean(env.WAYLAND_DISPLAY);
  return platform === 'linux' && screen ? 'xdg-open' : undefined;
}

/** Starts the browser and leaves it alone. False when that was not possible. */
export function openInBrowser(command: string, url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, [url], { detached: true, stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
