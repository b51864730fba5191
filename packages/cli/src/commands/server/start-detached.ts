import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cli } from '../../cli/cli.js';
import { CliError } from '../../errors/cli-error.js';
import { withProgress } from '../../output/progress.js';
import { type BannerFacts, bannerRecord, formatBanner } from './banner.js';
import { detachedArgumentsVariable, detachedVariable, type ParentMessage } from './parent-report.js';
import { prepareBase } from './prepare-base.js';
import { resolveServerOptions } from './resolve-options.js';
import type { UpFlags } from './up-flags.js';

/** Starts the same command again in the background, and waits until it is up. */
export async function startDetached(cli: Cli, flags: UpFlags): Promise<void> {
  const options = await resolveServerOptions(flags, cli.env);
  const { dataDir } = options;
  await prepareBase(cli, flags, options);
  await mkdir(dataDir, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(`The data directory ${dataDir} cannot be made: ${error.code ?? error.message}.`, {
      hint: 'Choose another with --data-dir.',
    });
  });
  const logFile = join(dataDir, 'server.log');
  const log = await open(logFile, 'a', 0o600);
  try {
    const before = (await log.stat()).size;
    const facts = await withProgress(cli.out, 'Starting the server', () => launch(cli, logFile, log.fd));
    if (facts === undefined) throw await failure(logFile, before);
    if (cli.out.json) cli.out.line(JSON.stringify(bannerRecord(facts), null, 2));
    else cli.out.write(formatBanner(facts, cli.out.style));
  } finally {
    await log.close();
  }
}

/** Undefined when the server ended instead of getting up. */
async function launch(cli: Cli, logFile: string, logFd: number): Promise<BannerFacts | undefined> {
  const { argv, execArgv, execPath, env } = process;
  const args = argv.slice(2).filter((word) => word !== '--detach' && word !== '-d' && word !== '--json');
  const child = spawn(execPath, [...execArgv, argv[1]!, ...args, '--no-color'], {
    detached: true,
    stdio: ['ignore', logFd, logFd, 'ipc'],
    env: { ...env, [detachedVariable]: logFile, [detachedArgumentsVariable]: JSON.stringify(args) },
  });
  const stop = () => child.kill('SIGTERM');
  cli.signal.addEventListener('abort', stop, { once: true });
  try {
    const up = once(child, 'message').then(([message]) => (message as ParentMessage).ready);
    const down = once(child, 'exit').then(() => undefined);
    return await Promise.race([up, down]);
  } finally {
    cli.signal.removeEventListener('abort', stop);
    if (child.connected) child.disconnect();
    child.unref();
    cli.signal.throwIfAborted();
  }
}

async function failure(logFile: string, from: number): Promise<CliError> {
  const file = await open(logFile, 'r');
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(Math.min(size - from, 8192)),
      0,
      undefined,
      from,
    );
    const lines = buffer.toString('utf8', 0, bytesRead).trimEnd().split('\n');
    // Lines that it logged before are in the log.
    const [headline = '', ...rest] = lines.slice(
      Math.max(
        0,
        lines.findIndex((line) => line.startsWith('error: ')),
      ),
    );
    const message = headline.replace(/^error: /, '') || 'The server ended before it was up.';
    const hint = [...rest.map((line) => line.replace(/^ {2}/, '')), `Log: ${logFile}`].join('\n');
    return new CliError(message, { code: 'start_failed', hint });
  } finally {
    await file.close();
  }
}
