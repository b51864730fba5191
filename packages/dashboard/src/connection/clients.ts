import { createOperatorClient, type Node, type Team } from '@svc/platform/operator';
import { Client } from '@svc/sdk';
import { sessionFetch } from '../session/session.js';

const base = `${location.origin}/dashboard`;
const teams = new Map<string, Client>();

/** A client of the platform API and of sandboxes that acts for a team. The server adds every credential. */
export function clientOf(team: string): Client {
  let client = teams.get(team);
  if (client === undefined) {
    const name = encodeURIComponent(team);
    client = new Client({
      apiUrl: `${base}/api/${name}`,
      sandboxUrl: `${base}/gateway/${name}`,
      apiKey: 'the-server-adds-it',
      fetch: sessionFetch,
      maxRetries: 0,
      requestTimeoutMs: 30_000,
      logLevel: 'off',
    });
    teams.set(team, client);
  }
  return client;
}

const operator = createOperatorClient({ baseUrl: `${base}/operator`, token: undefined });

/** All teams, oldest first. */
export async function listTeams(): Promise<Team[]> {
  const all: Team[] = [];
  for (let nextToken: string | undefined; ; ) {
    const query = nextToken === undefined ? {} : { nextToken };
    const { data, response } = await operator.GET('/teams', { params: { query }, fetch: sessionFetch });
    if (data === undefined) throw new Error(`The list of teams was answered with ${response.status}.`);
    all.push(...data);
    nextToken = response.headers.get('x-next-token') ?? undefined;
    if (nextToken === undefined) return all;
  }
}

/** The servers that share the database; none where it is not shared. */
export async function listNodes(): Promise<Node[]> {
  const { data, response } = await operator.GET('/nodes', { fetch: sessionFetch });
  if (data === undefined) throw new Error(`The list of servers was answered with ${response.status}.`);
  return data;
}
