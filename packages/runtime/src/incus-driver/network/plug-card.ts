import type { IncusCluster } from '../incus-cluster.js';
import { keys } from '../keys.js';
import { CARD, cardDevice } from './card-device.js';
import type { CardMode } from './card-name.js';
import { setUpCardCommand } from './set-up-card.js';

/** The value of `keys.card` for a card without an address inside. */
export const BARE = 'bare';
export const READY = 'ready';

/**
 * Replaces the network card of an instance, running or frozen, by one with the name of the mode. Until {@link setUpCard} nothing goes
 * through the new one, in either direction. Where it fails, the old card is removed or as it was.
 * @throws {IncusError}
 */
export async function plugCard(
  cluster: Pick<IncusCluster, 'patch'>,
  options: { name: string; address: string; parent: string; mode: CardMode },
): Promise<void> {
  const { name, address, parent, mode } = options;
  await cluster.patch(name, {
    config: { [keys.card]: BARE },
    devices: { [CARD]: cardDevice({ parent, address, mode }) },
  });
}

/** Gives the card of a running instance its address. @throws {IncusError} also where what is inside does not let it */
export async function setUpCard(
  cluster: Pick<IncusCluster, 'patch' | 'execute'>,
  { name, address }: { name: string; address: string },
): Promise<void> {
  await cluster.execute(name, setUpCardCommand(address));
  await cluster.patch(name, { config: { [keys.card]: READY } });
}
