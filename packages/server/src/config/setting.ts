import { parseRange } from '@svc/network-policy';
import type { IdPool } from '@svc/runtime/linux';

/**
 * One setting of the server: what it may be, and how each source says it. Ours instead of a schema library, because most of a
 * definition is what none of them knows (variable, flag, docstring), and what remains, ten kinds of values, is these lines.
 */
export interface Setting<T = unknown> {
  /** Returns the problem of a value; undefined when there is none. Never quotes the value, which may be secret. */
  check(this: void, value: unknown): string | undefined;
  /** Parses the text of a variable or a flag; it is checked afterwards. Undefined: it means nothing. */
  read(this: void, text: string): T | undefined;
  /** Environment variable. */
  readonly variable?: string;
  /** Flag of `svc server up`. */
  readonly flag?: string;
  readonly default?: T;
}

/** Settings by name; a map of settings is a level of the configuration file. */
export interface Settings {
  readonly [name: string]: Setting | Settings;
}

/** Settings as they may be given: none has to be. */
export type OptionsOf<S> = { [Name in keyof S]?: S[Name] extends Setting<infer T> ? T : OptionsOf<S[Name]> };

/** Settings in effect: every one that has a default is there. */
export type Resolved<S> = {
  [Name in keyof S]: S[Name] extends Setting<infer T>
    ? S[Name] extends { default: unknown }
      ? T
      : T | undefined
    : Resolved<S[Name]>;
};

type Where<T> = Pick<Setting<T>, 'variable' | 'flag' | 'default'>;

interface Kind<T> {
  (where: Where<T> & { default: T }): Setting<T> & { readonly default: T };
  (where?: Where<T>): Setting<T>;
}

/** A kind of setting. @param valid whether a value is one of the kind @param must what it must be */
function kind<T>(
  must: string,
  valid: (value: unknown) => boolean,
  read: (text: string) => T | undefined,
): Kind<T> {
  const check = (value: unknown) => (valid(value) ? undefined : `must be ${must}`);
  return (where: Where<T> = {}) => ({ ...where, check, read }) as Setting<T> & { default: T };
}

const isText = (value: unknown) => typeof value === 'string';
const isWhole = (least: number, most: number) => (value: unknown) =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
const isId = isWhole(65_536, 2_147_483_647);
const isRate = (value: unknown) => Number.isFinite(value) && (value as number) >= 0;
const readWhole = (text: string) => (/^\d+$/.test(text) ? Number(text) : undefined);
const readList = (text: string) => text.split(',').filter((part) => part !== '');

export const text = kind<string>(
  'a text',
  (value) => isText(value) && value !== '',
  (given) => given,
);

/** `on` or `off` in variables. */
export const toggle = kind<boolean>(
  'true or false (on or off in a variable)',
  (value) => typeof value === 'boolean',
  (given) => ({ on: true, off: false })[given],
);

/** With commas in variables. */
export const texts = kind<string[]>(
  'a list of texts',
  (value) => Array.isArray(value) && value.every(isText),
  readList,
);

/** With commas in variables. */
export const ranges = kind<string[]>(
  'a list of IP addresses and CIDR ranges, such as 10.1.2.0/24',
  (value) => Array.isArray(value) && value.every((each) => isText(each) && parseRange(each) !== undefined),
  readList,
);

export const milliseconds = kind<number[]>(
  'a list of milliseconds',
  (value) => Array.isArray(value) && value.every(isWhole(0, Number.MAX_SAFE_INTEGER)),
  (given) => readList(given).map(Number),
);

/** Whole numbers. */
export const whole = (least: number, most = Number.MAX_SAFE_INTEGER) =>
  kind<number>(
    `a whole number, ${most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `${least} to ${most}`}`,
    isWhole(least, most),
    readWhole,
  );

export const port = whole(0, 65_535);

/** A port that may be closed: `false`, in variables and flags `off`. */
export const portOrOff = kind<number | false>(
  'a port, 0 to 65535, or false (off in a variable)',
  (value) => value === false || isWhole(0, 65_535)(value),
  (given) => (given === 'off' ? false : readWhole(given)),
);

/** One of some words. `T` may be more, for what only a program can give. */
export const oneOf = <T>(words: readonly (T & string)[]) =>
  kind<T>(
    `one of ${words.join(', ')}`,
    (value) => words.some((word) => word === value),
    (given) => words.find((word) => word === given),
  );

/** One of some words for each name; `name=word,name=word` in variables. */
export const wordByName = <T extends string>(words: readonly T[]) =>
  kind<Record<string, T>>(
    `${words.join(' or ')} for each name (name=${words[0]},... in a variable)`,
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      Object.values(value).every((each) => words.some((word) => word === each)),
    (given) => {
      const pairs = readList(given).map((pair) => /^\s*([^=\s]+)\s*=\s*(\S+)\s*$/.exec(pair));
      if (pairs.includes(null)) return undefined;
      return Object.fromEntries(pairs.map((pair) => [pair?.[1], pair?.[2]]));
    },
  );

/** A text for each name; in variables `name=text,name=text`, percent-encoded. */
export const textByName = kind<Record<string, string>>(
  'a text for each name (name=text,... in a variable, percent-encoded)',
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every(isText),
  (given) => {
    try {
      const pairs = readList(given).map((pair) => /^\s*([^=\s]+)\s*=(.*)$/.exec(pair));
      if (pairs.includes(null)) return undefined;
      return Object.fromEntries(
        pairs.map((pair) => [
          decodeURIComponent(pair?.[1] ?? ''),
          decodeURIComponent(pair?.[2]?.trim() ?? ''),
        ]),
      );
    } catch {
      return undefined;
    }
  },
);

/** An address of the web, without user name and password. */
export const webAddress = kind<string>(
  'an http or https address without user name and password',
  (value) => {
    if (!isText(value) || !URL.canParse(value as string)) return false;
    const { protocol, username, password } = new URL(value as string);
    return /^https?:$/.test(protocol) && username === '' && password === '';
  },
  (given) => given,
);

/** A part of all. */
export const ratio = kind<number>(
  'a number, 0 to 1',
  (value) => typeof value === 'number' && value >= 0 && value <= 1,
  (given) => (/^\d+(\.\d+)?$/.test(given) ? Number(given) : undefined),
);

/** User ids of the host; `FIRST:COUNT` in variables. */
export const idPool = kind<IdPool>(
  'a map of first and count, whole numbers, 65536 to 2147483647 (600000000:67108864 in a variable)',
  (value) => isMapOf(value, { first: isId, count: isId }),
  (given) => {
    const [, first, count] = /^(\d+):(\d+)$/.exec(given) ?? [];
    return first === undefined ? undefined : { first: Number(first), count: Number(count) };
  },
);

/** A bucket of tokens. */
export interface RateLimit {
  /** Tokens per second; 0 switches the limit off. */
  rate: number;
  /** Most tokens at once, >= 1. */
  burst: number;
}

/** `RATE` or `RATE:BURST` in variables and flags, or `off`. Without a burst: five seconds' worth. */
export const rateLimit = kind<RateLimit>(
  'a map of rate, in requests per second, and burst (100, 100:500 with a burst, or off, in variables and flags)',
  (value) => isMapOf(value, { rate: isRate, burst: isWhole(1, Number.MAX_SAFE_INTEGER) }),
  (given) => {
    if (given === 'off') return { rate: 0, burst: 1 };
    const [, rate, burst] = /^(\d+(?:\.\d+)?)(?::([1-9]\d*))?$/.exec(given) ?? [];
    if (rate === undefined || Number(rate) === 0) return undefined;
    return {
      rate: Number(rate),
      burst: burst === undefined ? Math.max(1, Math.ceil(Number(rate) * 5)) : Number(burst),
    };
  },
);

/** Returns whether a value has exactly these entries, each of them valid. */
function isMapOf(value: unknown, entries: Record<string, (value: unknown) => boolean>): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const given = value as Record<string, unknown>;
  return (
    Object.keys(given).every((name) => Object.hasOwn(entries, name)) &&
    Object.entries(entries).every(([name, valid]) => valid(given[name]))
  );
}
