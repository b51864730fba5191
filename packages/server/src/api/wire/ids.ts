import { errors } from '../errors/catalog.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The deprecated `clientID` of every answer. */
export const CLIENT_ID = 'svc00000';

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/**
 * Reads a sandbox id from a path, the older `<sandboxID>-<clientID>` included.
 * @throws {ApiError} 400 `Invalid sandbox ID`
 */
export function parseSandboxId(text: string): string {
  const parts = text.split('-');
  const id = parts[0] ?? '';
  if (parts.length > 2 || !/^[a-z0-9]+$/.test(id) || id.length > 64) throw errors.invalidSandboxId();
  return id;
}
