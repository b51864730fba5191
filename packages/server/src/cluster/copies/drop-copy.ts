import type { StoredObject } from '@svc/runtime';
import type { Uses } from '../context.js';
import { forgetCopy } from './holders.js';

/** Removes the copy of a checkpoint that was wanted for a moment. What fails here `dropCopies` does again. */
export async function dropCopy(
  context: Uses<'config' | 'db' | 'driver' | 'log'>,
  checkpoint: StoredObject & { kind: 'checkpoint' },
): Promise<void> {
  try {
    await context.driver.deleteCheckpoint(checkpoint.id);
    await forgetCopy(context, checkpoint);
  } catch (error) {
    context.log.warn({ err: error, checkpointId: checkpoint.id }, 'the copy of a checkpoint stays for now');
  }
}
