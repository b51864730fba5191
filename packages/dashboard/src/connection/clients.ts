import { Client } from '@svc/sdk';
import { type OperatedTeam, OperatorClient } from '@svc/sdk/operator';
import { sessionFetch } from '../session/session.js';

const base = `${location.origin}/dashboard`;
const teams = new Map<string, Client>();

/** Stands where a credential would: the server adds each. */
const NO_CREDENTIAL = 'the-server-adds-it';

const settings = { fetch: sessionFetch, maxRetries: 0, requestTimeoutMs: 30_000, logLevel: 'off' } as const;

/** A client of the platform API and of sandboxes that acts for a team. */
export function clientOf(team: string): Client {
  let client = teams.get(team);
  if (client === undefined) {
    const name = encodeURIComponent(team);
    client = new Client({
      ...settings,
      apiUrl: `${base}/api/${name}`,
      sandboxUrl: `${base}/gateway/${name}`,
      apiKey: NO_CREDENTIAL,
    });
    teams.set(team, client);
  }
  return client;
}

/** A client of the operator API: only operations with `x-dashboard` are answered. */
export const operator = new OperatorClient({
  ...settings,
  operatorUrl: `${base}/operator`,
  token: NO_CREDENTIAL,
});

/** All teams, oldest first. */
export function listTeams(signal: AbortSignal): Promise<OperatedTeam[]> {
  return operator.teams.list({ signal }).toArray();
}
