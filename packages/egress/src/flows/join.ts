import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { brokeOff } from '../failures/broke-off.js';
import { reset } from '../failures/reset.js';

/**
 * Passes bytes both ways until both sides have ended. A side that breaks takes the other one with it. Each side is read only
 * as fast as the other one takes it.
 */
export function join(one: Duplex, other: Duplex): void {
  link(one, other);
  link(other, one);
  one.pipe(other);
  other.pipe(one);
  if (one.destroyed) breakOff(other);
  if (other.destroyed) breakOff(one);
}

function link(from: Duplex, to: Duplex): void {
  let ended = false;
  from.once('end', () => {
    if (brokeOff(from)) breakOff(to);
    else ended = true;
  });
  from.on('error', () => breakOff(to));
  // Without an end before it, a close is a break.
  from.once('close', () => {
    if (!ended || !from.writableFinished) breakOff(to);
  });
}

function breakOff(side: Duplex): void {
  if (side instanceof Socket && !(side instanceof TLSSocket)) reset(side);
  else side.destroy();
}
