import { get as getPlain } from 'node:http';
import { get as getEncrypted } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { CliError } from '../../../errors/cli-error.js';

/** A server with many sandboxes, on a slow disk, takes that long. */
const LIMIT_MS = 300_000;
const LOOK_MS = 250;

/**
 * Waits until the platform API of this machine answers that it is healthy.
 * @param isUp whether its process still runs, or is about to
 * @throws {CliError} when it ended, or does not answer within five minutes
 */
export async function waitUntilReady(apiUrl: string, isUp: () => Promise<boolean>): Promise<void> {
  for (const since = performance.now(); ; await sleep(LOOK_MS)) {
    if (await isHealthy(`${apiUrl}/health`)) return;
    if (!(await isUp())) throw new CliError('The server ended instead of getting up.', { code: 'upgrade' });
    if (performance.now() - since > LIMIT_MS)
      throw new CliError(`The server did not answer on ${apiUrl} within ${LIMIT_MS / 1000} s.`, {
        code: 'upgrade',
      });
  }
}

function isHealthy(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const answered = (response: { statusCode?: number | undefined; resume(): unknown }) => {
      response.resume();
      resolve(response.statusCode !== undefined && response.statusCode < 300);
    };
    // A certificate is for the server's public name, and nothing is told to who answers.
    const request = url.startsWith('https:')
      ? getEncrypted(url, { rejectUnauthorized: false, timeout: 5_000 }, answered)
      : getPlain(url, { timeout: 5_000 }, answered);
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}
