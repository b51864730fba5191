import { InvalidRequestError } from '../errors/answer-errors.js';

/** The same with what may be undefined as what may be absent. */
type Defined<T> = { [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key] } & {
  [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>;
};

/** Drops members that are undefined: absent means absent on the wire. */
export function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Defined<T>;
}

/** Milliseconds as the wire's whole seconds, rounded up. */
export function toSeconds(ms: number, option: string): number {
  if (Number.isFinite(ms) && ms >= 0) return Math.ceil(ms / 1000);
  throw new InvalidRequestError(`${option} must be a number of milliseconds of at least 0, got ${ms}.`);
}
