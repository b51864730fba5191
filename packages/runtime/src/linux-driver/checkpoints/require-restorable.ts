import { existsSync } from 'node:fs';
import { DriverError } from '../../contract/errors.js';
import type { InstanceSpec } from '../../contract/instance.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { Tiers } from '../make-tiers.js';
import { isolationOf } from '../state/records.js';
import type { CheckpointRecord } from './checkpoint.js';
import { requireHostFiles } from './host-files.js';
import { imageDirectory } from './image-directory.js';

/**
 * Refuses to restore memory where something that it needs is missing. A base that is missing is refused when the file system is planned.
 * @throws {DriverError} `unsupported`, with what to do.
 */
export async function requireRestorable(
  host: LinuxHost,
  tiers: Tiers,
  checkpoint: CheckpointRecord,
  spec: Pick<InstanceSpec, 'isolation'> = {},
): Promise<void> {
  const isolation = isolationOf(checkpoint);
  const { memoryProblem } = tiers[isolation];
  if (memoryProblem !== undefined)
    throw new DriverError('unsupported', `Memory cannot be restored on this host. ${memoryProblem}`);
  if (spec.isolation !== undefined && spec.isolation !== isolation)
    throw new DriverError(
      'unsupported',
      `Its memory was stored with the isolation "${isolation}" and cannot resume with "${spec.isolation}". Its files are kept: start it cold with memory: false.`,
    );
  const keeper = await host.up();
  if (checkpoint.inMemory === true && !existsSync(keeper.view(imageDirectory(host, checkpoint))))
    throw new DriverError(
      'unsupported',
      'Its memory cannot be restored: it was made for copies at once, and this machine has started again since. Its files are kept: start it cold with memory: false.',
    );
  if (!existsSync(host.store.view(`agents/${checkpoint.agent}`)))
    throw new DriverError(
      'unsupported',
      'Its memory cannot be restored: the daemon that it was running is no longer on this machine. Its files are kept: start it cold with memory: false.',
    );
  requireHostFiles(keeper, checkpoint.hostFiles ?? []);
}
