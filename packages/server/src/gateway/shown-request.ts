import type { IncomingMessage } from 'node:http';
import type { Admitted } from './admit.js';
import { ownTokenFor, resignedUrl } from './daemon-credentials.js';
import { requestHeaders } from './forwarded-headers.js';
import { withoutLinks } from './link-carriers.js';
import { sameSecret } from './secrets.js';
import type { GatewaySettings } from './settings.js';

/** The parts of a request that the sandbox gets. */
export interface ShownRequest {
  /** Host that the service is shown. */
  host: string | undefined;
  url: string;
  headers: string[];
}

/**
 * A request as the sandbox sees it. A client's token is for us: the daemon gets its own, and a program on another port
 * gets none that opens the daemon. Preview links are for us alone.
 */
export function shownRequest(
  req: IncomingMessage,
  { route, target }: Admitted,
  { secretNames }: GatewaySettings,
  options: { expectContinue: boolean; upgrade?: string },
): ShownRequest {
  const { daemon } = route;
  const { host, port, toDaemon } = target;
  const url = withoutLinks(target.url);
  const maskedHost = route.maskRequestHost?.replaceAll('${PORT}', String(port));
  const accessToken = (given: string): string | undefined => {
    if (daemon === undefined) return given;
    if (toDaemon) return ownTokenFor(given, daemon);
    return sameSecret(given, daemon.clientToken) ? undefined : given;
  };
  return {
    host: maskedHost ?? host,
    url: daemon !== undefined && toDaemon ? resignedUrl(req.method ?? 'GET', url, daemon) : url,
    headers: requestHeaders(req, { host, maskedHost, secretNames, accessToken, ...options }),
  };
}
