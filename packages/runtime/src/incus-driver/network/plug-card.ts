import { loaderOf } from '../../agent/host-programs.js';
import type { IncusCluster } from '../incus-cluster.js';
import { keys } from '../keys.js';
import { CARD, cardDevice, GATEWAY_ADDRESS } from './card-device.js';
import type { CardMode } from './card-name.js';

/** The value of `keys.card` for a card without an address inside. */
export const BARE = 'bare';
export const READY = 'ready';

/** The daemon's directory has programs with their libraries: what an image brings may be anything, or nothing. */
const LOADED = loaderOf('/.sbx');

/** Gives its input to `ip`, so that it takes one start of a program. Directories of earlier versions have no `ip`. */
const SCRIPT = `
const { spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const [lines, own, ...loader] = process.argv.slice(1);
const [program, ...args] = existsSync(own) ? [...loader, own, '-batch', '-'] : ['ip', '-batch', '-'];
const { status } = spawnSync(program, args, { input: lines, stdio: ['pipe', 'ignore', 'ignore'], timeout: 20_000 });
process.exit(status ?? 1);`;

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

/**
 * Command that gives a card its address and its way out, from inside: Incus does so only where the card is there from the
 * start. Repeating it is fine. Pure.
 */
export function setUpCardCommand(address: string): string[] {
  const lines = [
    `address replace ${address}/32 dev ${CARD}`,
    `link set ${CARD} up`,
    `route replace ${GATEWAY_ADDRESS} dev ${CARD} scope link`,
    `route replace default via ${GATEWAY_ADDRESS} dev ${CARD}`,
  ];
  return [...LOADED, '/.sbx/node', '-e', SCRIPT, `${lines.join('\n')}\n`, '/.sbx/ip', ...LOADED];
}
