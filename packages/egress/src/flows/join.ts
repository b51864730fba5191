import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { brokeOff } from '../failures/broke-off.js';
import { reset } from '../failures/reset.js';

/**
 * Passes bytes both ways until both sides have ended. A side that breaks takes the other one with it. Each side is read only
 * as fast as the other one takes it.
 * @param begin begins to pass on what `other` says, where it is not read as a stream
 */
export function join<T extends Duplex>(one: Duplex, other: T, begin?: (other: T) => void): void {
  link(one, other);
  link(other, one);
  one.pipe(other);
  if (begin === undefined) other.pipe(one);
  else begin(other);
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
