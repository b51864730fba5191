import type { Sandbox } from '@svc/sdk';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { ExitWith, exitCodes, UsageError } from '../../errors/cli-error.js';
import { describeError } from '../../errors/describe-error.js';
import { formatUntil } from '../../output/format.js';
import { withProgress } from '../../output/progress.js';
import { parseDuration } from '../../parse/duration.js';
import { wholeNumber } from '../../parse/number.js';
import { detailRecord } from './show.js';

const atOnce = 8;

export function addKill(sandbox: Command): void {
  leaf(sandbox, 'kill [ids...]', 'kill sandboxes, running or paused')
    .alias('rm')
    .option('--all', 'kill every sandbox of the team')
    .action(
      act(async (cli, given: string[], flags: { all?: boolean }) => {
        if ((given.length === 0) !== (flags.all === true))
          throw new UsageError(
            'Give the ids of the sandboxes to kill, or --all.',
            '`svc sandbox list` shows their ids.',
          );
        const client = await cli.client({ destroys: true });
        const { signal } = cli;
        const ids = flags.all
          ? (await client.sandboxes.list({ signal }).toArray()).map(({ sandboxId }) => sandboxId)
          : [...new Set(given)];
        const results: { sandboxId: string; killed: boolean }[] = [];
        const waiting = [...ids];
        await Promise.all(
          Array.from({ length: Math.min(atOnce, ids.length) }, async () => {
            for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
              const killed = await client.sandboxes.kill(id, { signal });
              results.push({ sandboxId: id, killed });
              if (!cli.out.json) cli.out.line(killed ? `Killed ${id}` : `There is no sandbox ${id}`);
            }
          }),
        );
        if (cli.out.json) cli.out.line(JSON.stringify(results, null, 2));
        if (ids.length === 0) cli.out.note('No sandboxes.');
        if (results.some(({ killed }) => !killed) && !flags.all) throw new ExitWith(exitCodes.failure);
      }),
    );
}

export function addPause(sandbox: Command): void {
  leaf(sandbox, 'pause <id>', 'pause a sandbox: save its state and stop it')
    .option('--no-memory', 'save its files only; no program runs after the resume')
    .action(
      act(async (cli, id: string, flags: { memory: boolean }) => {
        const client = await cli.client();
        const options = { signal: cli.signal, ...(flags.memory ? {} : { memory: false }) };
        const paused = await withProgress(cli.out, 'Pausing', () => client.sandboxes.pause(id, options));
        cli.out.result({ sandboxId: id, paused }, () =>
          paused ? `Paused ${id}. Resume it with: svc sandbox resume ${id}\n` : `${id} was paused already.\n`,
        );
      }),
    );
}

export function addResume(sandbox: Command): void {
  leaf(sandbox, 'resume <id>', 'resume a paused sandbox')
    .option('-t, --timeout <span>', 'time to live from now (default 5m)', parseDuration)
    .option('--no-memory', 'boot it again from its files, without its memory')
    .action(
      act(async (cli, id: string, flags: { timeout?: number; memory: boolean }) => {
        const client = await cli.client();
        const { signal } = cli;
        const options = { signal, timeoutMs: flags.timeout, ...(flags.memory ? {} : { memory: false }) };
        const handle = await withProgress(cli.out, 'Resuming', () => client.sandboxes.connect(id, options));
        const info = await handle.info({ signal });
        cli.out.result(
          detailRecord(info),
          () => `${id} runs; it ends ${formatUntil(info.endAt, Date.now())}.\n`,
        );
      }),
    );
}

export function addTimeout(sandbox: Command): void {
  leaf(
    sandbox,
    'timeout <id> <span>',
    'set the time to live of a sandbox, counted from now; 0 ends it',
  ).action(
    act(async (cli, id: string, span: string) => {
      const timeoutMs = parseDuration(span);
      const { signal } = cli;
      const handle = await cli.sandbox(id, { destroys: timeoutMs === 0 });
      await handle.setTimeout(timeoutMs, { signal });
      // It is killed or paused now; which of the two shows when it has happened.
      if (timeoutMs === 0) return cli.out.result({ sandboxId: id, endAt: null }, () => `${id} ends now.\n`);
      const info = await handle.info({ signal });
      cli.out.result(detailRecord(info), () => `${id} ends ${formatUntil(info.endAt, Date.now())}.\n`);
    }),
  );
}

export function addRefresh(sandbox: Command): void {
  leaf(
    sandbox,
    'refresh <id> [span]',
    'extend the time to live of a sandbox to at least this long from now; never shortens it',
  ).action(
    act(async (cli, id: string, span: string | undefined) => {
      const durationMs = span === undefined ? undefined : parseDuration(span);
      const { signal } = cli;
      const handle = await cli.sandbox(id);
      await handle.refresh(durationMs, { signal });
      const info = await handle.info({ signal });
      cli.out.result(detailRecord(info), () => `${id} ends ${formatUntil(info.endAt, Date.now())}.\n`);
    }),
  );
}

export function addFork(sandbox: Command): void {
  leaf(sandbox, 'fork <id>', 'copy a running sandbox, memory included; prints the ids of the copies')
    .option('-n, --count <count>', 'number of copies, 1 to 100', wholeNumber('--count', 1, 100), 1)
    .option('-t, --timeout <span>', "time to live of each copy (default: the service's, 15s)", parseDuration)
    .action(
      act(async (cli, id: string, { count, timeout }: { count: number; timeout?: number }) => {
        const { signal } = cli;
        const source = await cli.sandbox(id);
        const forks = await withProgress(cli.out, `Forking ${count === 1 ? 'once' : `${count} times`}`, () =>
          source.fork({ count, timeoutMs: timeout, signal }),
        );
        const records = forks.map((fork) =>
          fork.ok
            ? { ok: true, sandboxId: fork.sandbox.id }
            : { ok: false, error: describeError(fork.error) },
        );
        if (cli.out.json) cli.out.line(JSON.stringify(records, null, 2));
        for (const fork of forks) {
          if (fork.ok && !cli.out.json) cli.out.line(fork.sandbox.id);
          if (!fork.ok) cli.out.note(`${cli.out.errorStyle.red('failed:')} ${fork.error.message}`);
        }
        const made = forks.find(({ ok }) => ok);
        if (timeout === undefined && made?.ok) {
          const { endAt } = await made.sandbox.info({ signal });
          cli.out.note(`Ends ${formatUntil(endAt, Date.now())}; extend it with: svc sandbox timeout ID 10m`);
        }
        if (forks.some(({ ok }) => !ok)) throw new ExitWith(exitCodes.failure);
      }),
    );
}

/** Life that is always left while somebody works in the sandbox, ms. */
const leftMs = 120_000;
const everyMs = 30_000;

/**
 * Keeps a sandbox from reaching the end of its time to live. A failure is left to what is being done in it.
 * @returns a function that stops doing so; what is left then is at most two minutes more than before
 */
export function keepAlive(sandbox: Sandbox): () => void {
  const extend = () => void sandbox.refresh(leftMs).catch(() => undefined);
  extend();
  const timer = setInterval(extend, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
