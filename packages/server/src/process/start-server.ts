import type { Log } from '../api/context/context.js';
import { claimVolumes } from '../cluster/fleet/volume-home.js';
import type { ServerOptions } from '../config/options.js';
import { settings } from '../config/settings.js';
import { withDefaults } from '../config/walk.js';
import { expireDue } from '../sandboxes/change/expiry.js';
import { repairTeamRunning } from '../sandboxes/change/repair-team-running.js';
import { CleanUp } from '../sandboxes/recovery/clean-up.js';
import { type RecoveryReport, recover } from '../sandboxes/recovery/recover.js';
import { type CpuMemory, sampleAll } from '../sandboxes/telemetry/sampler.js';
import { emptyBuildTrash, recoverBuilds } from '../templates/builds/recover.js';
import { startBackground } from './background.js';
import type { ServerContext } from './context.js';
import { createLogger } from './logger.js';
import { openListeners } from './open-listeners.js';
import { openStored } from './open-stored.js';
import { type BaseTemplate, type Credentials, seed } from './seed.js';
import type { Server, StopOptions } from './server.js';
import { Unwind } from './unwind.js';

/**
 * Starts the whole service. Three phases: open the stored state, reconcile it with the running sandboxes, open the listeners.
 * A failure undoes what was done.
 * @throws {DataDirectoryError} when other users could read the data directory and that cannot be changed.
 * @throws {DirectoryLockedError} while another server has the data directory.
 * @throws {StorageError} when the database cannot be used; {ServerKeyError} when it belongs to another key.
 * @throws {DriverError} `unsupported` when the host cannot run the driver.
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const log = createLogger(options.logLevel);
  const unwind = new Unwind();
  const undo = () =>
    unwind.run((step, error) => log.error({ err: error, step }, 'a step of the stop failed'));
  try {
    return await start(options, log, unwind, undo);
  } catch (error) {
    await undo();
    throw error;
  }
}

async function start(
  options: ServerOptions,
  log: Log,
  unwind: Unwind,
  undo: () => Promise<void>,
): Promise<Server> {
  const resolved = withDefaults(settings, options);
  const stored = await openStored(options, log, unwind);
  const { context, opened, lifecycle, operatorToken } = stored;
  const { credentials, fresh, recovery } = await reconcile(context, resolved.base, unwind);
  const { apiUrl, operator } = await openListeners(resolved, stored, recovery, unwind);
  const cpuMemory: CpuMemory = new Map();
  startBackground(context, resolved, cpuMemory, unwind);
  log.info(
    { driver: opened.driver.name, why: opened.why, adopted: recovery.adopted, removed: recovery.removed },
    'the server is up',
  );

  let stopped: Promise<void> | undefined;
  const stop = (how: StopOptions = {}): Promise<void> => {
    stopped ??= (async () => {
      lifecycle.draining = true;
      lifecycle.destroySandboxes = how.destroySandboxes ?? lifecycle.destroySandboxes;
      await undo();
    })();
    return stopped;
  };
  return {
    apiUrl,
    sandboxUrl: context.config.sandboxUrl,
    operatorUrl: operator?.url,
    operatorToken,
    domain: context.config.domain,
    apiKey: credentials?.apiKey ?? '',
    firstStart: fresh,
    driver: opened.driver,
    driverReason: opened.why,
    recovery,
    context,
    expireDue: () => expireDue(context),
    reloadCertificates: async () => stored.certificates?.reload(),
    sampleNow: () => sampleAll(context, cpuMemory),
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

export interface Reconciled {
  credentials: Credentials | undefined;
  /** True when the credentials were made at this start. */
  fresh: boolean;
  recovery: RecoveryReport;
}

/** The second phase of a start: makes what is stored agree with what runs. */
export async function reconcile(
  context: ServerContext,
  base: BaseTemplate,
  unwind: Unwind,
): Promise<Reconciled> {
  const seeded = await seed(context, base);
  await repairTeamRunning(context);
  const recovery = await recover(context);
  await recoverBuilds(context);
  if (context.nodes.shared) await claimVolumes(context, await context.driver.volumes.list());
  // Nobody waits for it: a program that writes into a deleted volume must not keep the server from starting.
  const cleanUp = new CleanUp(context, [
    ['the trash of volumes', () => context.volumes.emptyTrash()],
    ['the trash of builds', () => emptyBuildTrash(context.config)],
  ]);
  unwind.add('clean-up', () => cleanUp.stop());
  return { ...seeded, recovery };
}
