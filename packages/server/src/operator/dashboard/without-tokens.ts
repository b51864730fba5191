/** Names of credentials of sandboxes in answers of the platform API. The server adds them where they are needed. */
const TOKENS = new Set(['envdAccessToken', 'trafficAccessToken']);

/** An answer of the platform API without the credentials of sandboxes. */
export function withoutTokens(json: string): string {
  // Most answers have none, and need no second reading.
  if (![...TOKENS].some((name) => json.includes(name))) return json;
  return JSON.stringify(JSON.parse(json, (name, value) => (TOKENS.has(name) ? undefined : value)));
}
