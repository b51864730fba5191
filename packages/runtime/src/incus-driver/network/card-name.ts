import type { InstanceNetwork } from '../../contract/instance.js';

/** The traffic of a network card. `internet`: everything that the fence allows all sandboxes. `none`: only answers to servers. */
export type CardMode = Exclude<InstanceNetwork['egress'], 'governed'>;

/** The prefixes by which the fence of the members (`fence.nft`) recognises cards. */
const PREFIXES = { internet: 'svci', none: 'svcn' } as const satisfies Record<CardMode, string>;

/** The kernel takes no longer name of an interface. */
export const LONGEST_CARD_NAME = 15;

/**
 * Name of the member's end of the network card of the sandbox with an address: the only thing that the fence of the members
 * knows of a sandbox, and out of reach for who is inside. No two are alike, as no two sandboxes have the same address. Pure.
 * @param address IPv4
 */
export function cardName(address: string, mode: CardMode): string {
  const digits = address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'));
  return `${PREFIXES[mode]}${digits.join('')}`;
}

/**
 * Reads the mode of a card from its name. Undefined: an earlier version made it, and no fence keeps anything from it. Pure.
 */
export function cardModeOf(name: string | undefined): CardMode | undefined {
  return (['internet', 'none'] as const).find((mode) => name?.startsWith(PREFIXES[mode]));
}
