import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerOptions, StartPlan } from '@svc/server';
import { processStart } from '#support/process-identity';
import type { Cli } from '../../cli/cli.js';
import { cliVersion } from '../../cli/version.js';
import { serverDirectory } from '../../connection/directories.js';
import { credentialsFile } from '../../connection/find-connection.js';
import { forgetServer, rememberServer } from '../../connection/local-servers.js';
import { type RunFile, removeRunFile, writeRunFile } from '../../connection/run-file.js';
import { CliError, ExitWith } from '../../errors/cli-error.js';
import { type BannerFacts, bannerRecord, formatBanner } from './banner.js';
import { type ChosenDriver, chooseDriver } from './choose-driver.js';
import { isDetached, reportToParent } from './parent-report.js';
import { prepareBase } from './prepare-base.js';
import { exposureWarning, resolveServerOptions } from './resolve-options.js';
import { explainStartFailure } from './start-failure.js';
import type { UpFlags } from './up-flags.js';

/** Findings from before the start, which are printed once the server is up. */
interface Preparations {
  chosen: ChosenDriver;
  /** Secrets that could not be kept from the disk, as sentences. */
  unprotected: string[];
}

/** Runs the server until Ctrl+C or SIGTERM: in this process, or beside it where this one has the rights of root. */
export async function serve(cli: Cli, flags: UpFlags): Promise<void> {
  const { hardenProcess, planStart, receiveOrders, runAsRoot } = await import('@svc/server');
  const orders = await receiveOrders();
  if (orders !== undefined) {
    const plan = { kind: 'started-by-root' as const, orders };
    return runServer(cli, orders.options, plan, orders.extra as Preparations);
  }
  const options = await resolveServerOptions(flags, cli.env);
  if (!isDetached()) await prepareBase(cli, flags, options);
  const unprotected = await hardenProcess();
  const configured = flags.driver ?? (typeof options.driver === 'string' ? options.driver : undefined);
  const chosen = await chooseDriver({
    driver: configured,
    ociRuntime: options.ociRuntime,
    isolation: options.isolation,
    dataDir: options.dataDir,
  });
  const startOptions = { ...options, driver: chosen.name };
  // While this is still the process of who started it: the server's user has no home.
  await rememberServer(cli.env, options.dataDir);
  const explain = (error: unknown) => {
    throw explainStartFailure(error, options);
  };
  const plan = await planStart(startOptions).catch(explain);
  const prepared: Preparations = { chosen, unprotected };
  if (plan.kind !== 'as-root') return runServer(cli, startOptions, plan, prepared);
  const { code, signal } = await runAsRoot(startOptions, plan.user, prepared).catch(explain);
  await forgetServer(cli.env, options.dataDir);
  if (signal !== undefined)
    throw new CliError(`The server was ended by ${signal}; sandboxes run on.`, {
      code: 'server_lost',
      hint: '`svc server up` starts it again and takes the sandboxes over. The log may have the reason.',
    });
  // The server has printed the rest.
  if (code !== 0) throw new ExitWith(code);
}

async function runServer(
  cli: Cli,
  options: ServerOptions,
  plan: Exclude<StartPlan, { kind: 'as-root' }>,
  { chosen, unprotected }: Preparations,
): Promise<void> {
  const { installCrashGuard, startSeparatedServer, startServer } = await import('@svc/server');
  const report = reportToParent();
  const server = await (plan.kind === 'alone'
    ? startServer(options)
    : startSeparatedServer(options, plan)
  ).catch((error: unknown) => {
    throw explainStartFailure(error, options);
  });
  // Of two processes, the one that was started stands for both.
  const pid = plan.kind === 'started-by-root' ? process.ppid : process.pid;
  const lost = 'lost' in server ? server.lost : new Promise<never>(() => {});
  const removeCrashGuard = installCrashGuard({
    log: server.context.log,
    async end() {
      await server.stop();
      await removeRunFile(options.dataDir, pid);
      await forgetServer(cli.env, options.dataDir);
    },
  });
  const run: RunFile = {
    pid,
    processStart: processStart(pid) ?? '',
    version: cliVersion,
    startedAt: new Date().toISOString(),
    dataDir: options.dataDir,
    driver: server.driver.name,
    why: chosen.name === 'linux' ? server.driverReason : chosen.why,
    apiUrl: server.apiUrl,
    sandboxUrl: server.sandboxUrl,
    ...(server.operatorUrl === undefined ? {} : { operatorUrl: server.operatorUrl }),
    privateWebhooks: options.tuning?.webhooks?.allowPrivateAddresses === true,
    ...(report?.logFile === undefined ? {} : { logFile: report.logFile }),
  };
  try {
    await writeRunFile(run);
    const asRoot = plan.kind === 'alone' ? plan.warning : undefined;
    const warnings = [exposureWarning(options), asRoot, ...unprotected];
    const facts: BannerFacts = {
      run,
      summary: server.driver.summary,
      lacking: chosen.lacking.map(({ message, fix }) =>
        fix === undefined ? message : `${message} Get it: ${fix}`,
      ),
      credentialsFile: credentialsFile(options.dataDir),
      newKey: (await showKeyOnce(options.dataDir)) ? server.apiKey : undefined,
      adopted: server.recovery.adopted,
      warnings: warnings.filter((warning) => warning !== undefined),
      detached: report !== undefined,
    };
    if (report !== undefined) report.ready(facts);
    else if (cli.out.json) cli.out.line(JSON.stringify(bannerRecord(facts)));
    else cli.out.write(formatBanner(facts, cli.out.style));
    const ended = cli.signal.aborted ? undefined : await Promise.race([once(cli.signal, 'abort'), lost]);
    if (ended instanceof Error)
      throw new CliError(`${ended.message} The server ends with it; sandboxes run on.`, {
        code: 'runtime_lost',
        hint: '`svc server up` starts both again and takes the sandboxes over. The log may have the reason.',
      });
    cli.out.note('\nStopping: requests under way may end first. Ctrl+C again stops at once.');
  } finally {
    await server.stop();
    removeCrashGuard();
    await removeRunFile(options.dataDir, pid);
    await forgetServer(cli.env, options.dataDir);
  }
  const kept =
    options.destroySandboxesOnStop === true
      ? ''
      : ' Sandboxes run on; the next `svc server up` takes them over.';
  cli.out.note(`Stopped.${kept}`);
}

/**
 * Returns true when the key is still to be shown, for one call alone. Not the first start decides: that one may have failed
 * after the key was made, at a port that was taken.
 */
async function showKeyOnce(dataDir: string): Promise<boolean> {
  return writeFile(join(serverDirectory(dataDir), 'key-shown'), '', { flag: 'wx', mode: 0o600 }).then(
    () => true,
    () => false,
  );
}
