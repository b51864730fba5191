import { type CardMode, cardName } from './card-name.js';

/** Of the member, at its end of the card of every sandbox: Incus gives it to all routed cards. */
export const GATEWAY_ADDRESS = '169.254.0.1';

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
