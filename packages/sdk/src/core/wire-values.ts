import { InvalidRequestError } from '../errors/answer-errors.js';

/** Drops members that are undefined: absent means absent on the wire. */
export function defined<T extends object>(value: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never;
}

/** Milliseconds as the wire's whole seconds, rounded up. */
export function toSeconds(ms: number, option: string): number {
  if (Number.isFinite(ms) && ms >= 0) return Math.ceil(ms / 1000);
  throw new InvalidRequestError(`${option} must be a number of milliseconds of at least 0, got ${ms}.`);
}
