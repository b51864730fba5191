import { randomInt } from 'node:crypto';

/** Above what distributions, container engines and sandboxes have, below what the kernel keeps for "no id". */
const FIRST = 2 ** 31;
const END = 2 ** 32 - 2 ** 20;

/**
 * User and group of one run of a jailed process: a number that nothing on the host belongs to, and no other run either. What
 * is counted per user, and what processes of one user may do to each other, is its own.
 */
export function jailUser(): number {
  return randomInt(FIRST, END);
}
