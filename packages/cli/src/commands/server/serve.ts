import { once } from 'node:events';
import { processStart } from '#support/process-identity';
import type { Cli } from '../../cli/cli.js';
import { cliVersion } from '../../cli/version.js';
import { credentialsFile } from '../../connection/find-connection.js';
import { forgetServer, rememberServer } from '../../connection/local-servers.js';
import { type RunFile, removeRunFile, writeRunFile } from '../../connection/run-file.js';
import { CliError } from '../../errors/cli-error.js';
import { type BannerFacts, bannerRecord, formatBanner } from './banner.js';
import { chooseDriver } from './choose-driver.js';
import { reportToParent } from './parent-report.js';
import { prepareBase } from './prepare-base.js';
import { exposureWarning, resolveServerOptions } from './resolve-options.js';
import { showKeyOnce } from './show-key-once.js';
import { explainStartFailure } from './start-failure.js';
import type { UpFlags } from './up-flags.js';

/** Runs the server in this process until Ctrl+C or SIGTERM. */
export async function serve(cli: Cli, flags: UpFlags): Promise<void> {
  const report = reportToParent();
  const { hardenProcess, installLastResort, planStart, startSeparatedServer, startServer } = await import(
    '@svc/server'
  );
  const options = await resolveServerOptions(flags, cli.env);
  if (report === undefined) await prepareBase(cli, flags, options);
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
  const server = await (plan.separated
    ? startSeparatedServer(startOptions, plan)
    : startServer(startOptions)
  ).catch(explain);
  const lost = 'lost' in server ? server.lost : new Promise<never>(() => {});
  const removeLastResort = installLastResort({
    log: server.context.log,
    async end() {
      await server.stop();
      await removeRunFile(options.dataDir, process.pid);
      await forgetServer(cli.env, options.dataDir);
    },
  });
  const run: RunFile = {
    pid: process.pid,
    processStart: processStart(process.pid) ?? '',
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
    const asRoot = plan.separated ? undefined : plan.warning;
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
        hint: '`svc server up` starts both again and takes the sandboxes over. The log may tell why it ended.',
      });
    cli.out.note('\nStopping: requests under way may end first. Ctrl+C again stops at once.');
  } finally {
    await server.stop();
    removeLastResort();
    await removeRunFile(options.dataDir, process.pid);
    await forgetServer(cli.env, options.dataDir);
  }
  const kept =
    options.destroySandboxesOnStop === true
      ? ''
      : ' Sandboxes run on; the next `svc server up` takes them over.';
  cli.out.note(`Stopped.${kept}`);
}
