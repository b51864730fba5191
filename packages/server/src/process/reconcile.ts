import { claimVolumes } from '../cluster/fleet/volume-home.js';
import { mendTeamRunning } from '../sandboxes/change/mend-team-running.js';
import { CleanUp } from '../sandboxes/recovery/clean-up.js';
import { type RecoveryReport, recover } from '../sandboxes/recovery/recover.js';
import { emptyBuildTrash, recoverBuilds } from '../templates/builds/recover.js';
import type { ServerContext } from './context.js';
import { type BaseTemplate, type Credentials, seed } from './seed.js';
import type { Unwind } from './unwind.js';

export interface Reconciled {
  credentials: Credentials | undefined;
  /** Whether the credentials were made at this start. */
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
  await mendTeamRunning(context);
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
