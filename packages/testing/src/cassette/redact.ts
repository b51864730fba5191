import { type Exchange, fromLatin1, latin1Of } from './format.js';

/** Headers whose values never reach a cassette. */
const secretHeaders =
  /^(x-api-key|x-access-token|authorization|proxy-authorization|cookie|set-cookie|svc-traffic-access-token|.*(token|secret|password|api-key).*)$/i;
/** Members of JSON whose values are secrets, of any kind. */
const secretMembers = /(token|secret|password|credential|apikey|api_key|private_?key)/i;
/** Members that are secrets in these paths alone. */
const secretPlaces: readonly (readonly [RegExp, RegExp])[] = [
  [/\/secrets(\/|\?|$)/, /^value$/],
  [/\/api-keys(\/|\?|$)/, /^key$/],
];
/** Members that only look like it: they name a secret, or lead to the next page. */
const harmless = /^(secretID|nextToken|maskedValue.*|tokenCount)$/;
/** Names of environment variables that hold secrets. */
const secretVariables = /(key|token|secret|password|passwd|credential)/i;
/** Shorter ones would be found everywhere. */
const shortest = 4;

const encoder = new TextEncoder();

/**
 * Takes every secret out of exchanges: those of known headers, members and variables, those that are given, and each of them
 * wherever else it occurs. What stands in its place has the same length, so that messages with lengths stay whole.
 */
export class Redactor {
  readonly #secrets: Set<string>;
  #needles: readonly string[] | undefined;

  /** @param given secrets besides those that are found */
  constructor(given: readonly string[] = []) {
    this.#secrets = new Set(given);
  }

  /** Finds the secrets of an exchange, so that they are taken out of all. */
  learn(exchange: Exchange): void {
    const before = this.#secrets.size;
    collect(exchange, this.#secrets);
    if (this.#secrets.size > before) this.#needles = undefined;
  }

  /** The exchange without any secret that is known by now. */
  clean(exchange: Exchange): Exchange {
    const { url, headers, body, answer, chunks, ending } = exchange;
    // A secret may be cut by the border of two pieces: they are cleaned as one.
    const whole = this.#cleanBytes(chunks.map(({ bytes }) => latin1Of(bytes)).join(''));
    let at = 0;
    return {
      ...exchange,
      url: this.#cleanText(cleanUrl(url)),
      headers: this.#cleanHeaders(headers),
      body: fromLatin1(this.#cleanBytes(latin1Of(body))),
      answer: answer && { ...answer, headers: this.#cleanHeaders(answer.headers) },
      chunks: chunks.map(({ atMs, bytes }) => {
        const start = at;
        at += bytes.byteLength;
        return { atMs, bytes: fromLatin1(whole.slice(start, at)) };
      }),
      ending: 'message' in ending ? { ...ending, message: this.#cleanText(ending.message) } : ending,
    };
  }

  #cleanBytes(text: string): string {
    this.#needles ??= [...this.#secrets]
      .filter((secret) => secret.length >= shortest && !redacted.test(secret))
      .flatMap(formsOf)
      .sort((a, b) => b.length - a.length);
    return this.#needles.reduce((rest, needle) => rest.replaceAll(needle, placeholder(needle)), text);
  }

  #cleanText(text: string): string {
    return decode(fromLatin1(this.#cleanBytes(latin1Of(encoder.encode(text)))));
  }

  #cleanHeaders(headers: Exchange['headers']): Record<string, string> {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        secretHeaders.test(name) ? placeholder(value) : this.#cleanText(value),
      ]),
    );
  }
}

/** The text in the place of a secret. */
export const redacted = /REDA(?:CTED-*|CTE?|C)?/;

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

function placeholder(secret: string): string {
  return 'REDACTED'.padEnd(secret.length, '-').slice(0, secret.length);
}

function cleanUrl(text: string): string {
  return text.replace(
    /([?&](?:signature|svc_preview|[^=&]*token)=)([^&#]+)/gi,
    (_, name: string, value: string) =>
      /^[?&]nextToken=/.test(name) ? `${name}${value}` : `${name}${placeholder(value)}`,
  );
}

/** A secret as it may stand in bytes: as it is, in JSON, in an address, in base64. */
function formsOf(secret: string): string[] {
  const bytes = latin1Of(encoder.encode(secret));
  const inJson = latin1Of(encoder.encode(JSON.stringify(secret).slice(1, -1)));
  return [
    ...new Set([bytes, inJson, encodeURIComponent(secret), btoa(bytes), btoa(bytes).replace(/=+$/, '')]),
  ];
}

function collect({ url, headers, body, answer, chunks }: Exchange, secrets: Set<string>): void {
  for (const [name, value] of [...Object.entries(headers), ...Object.entries(answer?.headers ?? {})])
    if (secretHeaders.test(name)) secrets.add(value.replace(/^(Bearer|Basic) /i, ''));
  const members = [
    secretMembers,
    ...secretPlaces.flatMap(([place, member]) => (place.test(url) ? [member] : [])),
  ];
  for (const text of [
    decode(body),
    decode(fromLatin1(chunks.map(({ bytes }) => latin1Of(bytes)).join(''))),
  ]) {
    if (!/^\s*[[{]/.test(text)) continue;
    try {
      collectIn(JSON.parse(text), members, secrets);
    } catch {
      // No JSON after all: what is secret in it is found if it stands in another place, too.
    }
  }
}

function collectIn(value: unknown, members: readonly RegExp[], secrets: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (name === 'envVars' && typeof inner === 'object' && inner !== null) {
      collectIn(inner, [secretVariables], secrets);
    } else if (typeof inner === 'string') {
      if (!harmless.test(name) && members.some((member) => member.test(name))) secrets.add(inner);
    } else collectIn(inner, members, secrets);
  }
}
