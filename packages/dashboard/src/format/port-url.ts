/** Domain under which a server on this machine reaches ports of sandboxes. */
const LOCAL_DOMAIN = 'svc.localhost';

/**
 * The address of a public port of a sandbox.
 * @param sandboxUrl address of the gateway, as the server tells it
 * @param domain that of the sandbox, where it has one
 */
export function portUrl(
  sandboxUrl: string,
  domain: string | undefined,
  sandboxId: string,
  port: number,
): string | undefined {
  if (!URL.canParse(sandboxUrl)) return undefined;
  const gateway = new URL(sandboxUrl);
  if (!/^https?:$/.test(gateway.protocol)) return undefined;
  const behind = gateway.port === '' ? '' : `:${gateway.port}`;
  const local = gateway.hostname === 'localhost' || /^(127\.|\[)/.test(gateway.hostname);
  const host = domain ?? (local ? LOCAL_DOMAIN : gateway.hostname);
  return `${gateway.protocol}//${port}-${sandboxId}.${host}${host.includes(':') ? '' : behind}/`;
}
