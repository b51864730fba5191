import type { Server as HttpServer } from 'node:http';
import type { createGatewayServer } from './gateway.js';

const LOOK_MS = 50;

/** Closes a server: idle connections at once, the others when their request ends, all of them after `graceMs`. */
export async function closeServer(server: HttpServer, graceMs: number): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // A connection kept alive becomes idle when its request ends, and nothing tells of it.
  const look = setInterval(() => server.closeIdleConnections(), LOOK_MS);
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
  clearInterval(look);
}

/**
 * Closes the gateway: what is under way may end within `drainMs`, then it is broken off. Broken off, not answered: the
 * sandbox goes on, so that no answer would be true, and clients look for their programs again.
 */
export async function closeGateway(
  { server, gateway, forwarder }: ReturnType<typeof createGatewayServer>,
  drainMs: number,
): Promise<void> {
  const closed = closeServer(server, drainMs);
  const end = performance.now() + drainMs;
  const underWay = () => gateway.stats.openRequests + gateway.stats.openUpgrades > 0;
  while (underWay() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  server.closeAllConnections();
  // Upgraded connections are no longer the server's.
  void gateway.close();
  forwarder.close();
  await closed;
}
