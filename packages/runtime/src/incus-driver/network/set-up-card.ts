import { loaderOf } from '../../agent/host-programs.js';
import { CARD } from './card-device.js';
import { GATEWAY_ADDRESS } from './gateway-address.js';

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
