import { randomBytes } from 'node:crypto';
import { message } from '../wire/message.js';
import { ProtocolError } from '../wire/protocol-error.js';
import { FieldReader } from '../wire/read.js';
import { boolean, byte, nameList, uint32 } from '../wire/write.js';

/**
 * The offer: one modern algorithm of each kind and a few ciphers. The peer is a program of the same user at the other
 * end of a pipe, so the choice is about who can connect, not about who listens.
 */
export const hostKeyAlgorithm = 'ssh-ed25519';
const keyExchanges = ['curve25519-sha256', 'curve25519-sha256@libssh.org'];
/** The authenticated ciphers need no MAC; the other has one over the encrypted bytes. */
export const ciphers = {
  'aes128-gcm@openssh.com': { node: 'aes-128-gcm', keyBytes: 16, ivBytes: 12 },
  'aes256-gcm@openssh.com': { node: 'aes-256-gcm', keyBytes: 32, ivBytes: 12 },
  'aes128-ctr': { node: 'aes-128-ctr', keyBytes: 16, ivBytes: 16 },
  'aes256-ctr': { node: 'aes-256-ctr', keyBytes: 32, ivBytes: 16 },
} as const;
export type CipherName = keyof typeof ciphers;
const cipherNames = Object.keys(ciphers) as CipherName[];
const macs = ['hmac-sha2-256-etm@openssh.com'];

/** Names that say in the first offer that the strict form of the key exchange is understood. */
const strictServer = 'kex-strict-s-v00@openssh.com';
const strictClient = 'kex-strict-c-v00@openssh.com';

/** Our offer (SSH_MSG_KEXINIT), afresh for each exchange. */
export function makeOffer(): Buffer {
  return Buffer.concat([
    byte(message.keyExchangeInit),
    randomBytes(16),
    nameList([...keyExchanges, strictServer]),
    nameList([hostKeyAlgorithm]),
    ...[cipherNames, cipherNames, macs, macs, ['none'], ['none'], [], []].map(nameList),
    boolean(false),
    uint32(0),
  ]);
}

/** Algorithms that both sides will use. */
export interface Agreement {
  /** Client to server, and back. */
  incoming: CipherName;
  outgoing: CipherName;
  strict: boolean;
  /** The client has sent a message for another key exchange already, which is to be dropped. */
  dropGuess: boolean;
}

/** Chooses, from a client's offer, the first of each list that we speak too. @throws {ProtocolError} without one. Pure. */
export function agree(offer: Buffer): Agreement {
  const reader = new FieldReader(offer);
  reader.take(17);
  const lists = Array.from({ length: 10 }, () => reader.nameList());
  const guessed = reader.boolean();
  const [exchanges = [], hostKeys = [], toUs = [], fromUs = [], macsToUs = [], macsFromUs = []] = lists;
  const exchange = choose('key exchange', exchanges, keyExchanges);
  choose('host key', hostKeys, [hostKeyAlgorithm]);
  const incoming = choose('cipher', toUs, cipherNames);
  const outgoing = choose('cipher', fromUs, cipherNames);
  for (const [cipher, offered] of [
    [incoming, macsToUs],
    [outgoing, macsFromUs],
  ] as const)
    if (!isAuthenticated(cipher)) choose('MAC', offered, macs);
  for (const offered of lists.slice(6, 8)) choose('compression', offered, ['none']);
  const rightGuess = exchanges[0] === exchange && hostKeys[0] === hostKeyAlgorithm;
  return { incoming, outgoing, strict: exchanges.includes(strictClient), dropGuess: guessed && !rightGuess };
}

export function isAuthenticated(cipher: CipherName): boolean {
  return cipher.includes('-gcm@');
}

function choose<Name extends string>(kind: string, offered: readonly string[], ours: readonly Name[]): Name {
  const chosen = offered.find((name): name is Name => (ours as readonly string[]).includes(name));
  if (chosen !== undefined) return chosen;
  throw new ProtocolError(`no common ${kind}: allow ${ours.join(' or ')} in the SSH client`);
}
