/** Of the member, at its end of the card of every sandbox: Incus gives it to all routed cards. */
export const GATEWAY_ADDRESS = '169.254.0.1';
