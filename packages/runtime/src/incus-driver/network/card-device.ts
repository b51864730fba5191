import { type CardMode, cardName } from './card-name.js';

export interface CardOptions {
  /** Interface of the member through which the card is reached. */
  parent: string;
  address: string;
  mode: CardMode;
}

/** Name of the card inside, and of its device in Incus. */
export const CARD = 'eth0';

/** The device of a network card. Pure. */
export function cardDevice({ parent, address, mode }: CardOptions): Record<string, string> {
  return {
    type: 'nic',
    nictype: 'routed',
    name: CARD,
    parent,
    'ipv4.address': address,
    host_name: cardName(address, mode),
  };
}
