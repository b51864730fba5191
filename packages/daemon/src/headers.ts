/** Where requests to one sandbox's daemon go, and on whose behalf. */
export interface DaemonAddress {
  /** Which sandbox; sent as `Svc-Sandbox-Id`. */
  sandboxId: string;
  /** Port of the daemon inside the sandbox; sent as `Svc-Sandbox-Port`. Default 49983. */
  port?: number | undefined;
  /** The sandbox's own token (`envdAccessToken`), not the API key; sent as `X-Access-Token`. */
  accessToken?: string | undefined;
  /** Name of the user inside the sandbox; sent as HTTP Basic without a password. Default: the sandbox's default user. */
  user?: string | undefined;
}

/** Port on which daemons listen by default. */
export const defaultDaemonPort = 49983;

/** The headers that every request to a daemon carries, RPC or plain HTTP. */
export function daemonHeaders(address: DaemonAddress): Record<string, string> {
  const headers: Record<string, string> = {
    'Svc-Sandbox-Id': address.sandboxId,
    'Svc-Sandbox-Port': String(address.port ?? defaultDaemonPort),
  };
  if (address.accessToken !== undefined) headers['X-Access-Token'] = address.accessToken;
  if (address.user !== undefined) headers.Authorization = basicAuthorization(address.user);
  return headers;
}

/** HTTP Basic with a user name alone: `Basic base64("<user>:")`. */
export function basicAuthorization(user: string): string {
  const bytes = new TextEncoder().encode(`${user}:`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}
