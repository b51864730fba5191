/** A request of the platform, checked. */
export interface InitRequest {
  accessToken?: string;
  envVars?: Record<string, string>;
  defaultUser?: string;
  /** Empty: back to the user's home. */
  defaultWorkdir?: string;
  timestampMs?: number;
  hostname?: string;
  /** PEM of an authority that programs shall trust; empty: of none any more. */
  caBundle?: string;
  /** True: requests wait until it is false, because a copy of this memory is about to be made. */
  quiesced?: boolean;
}

/**
 * Reads the body of POST /init. Unknown fields are ignored.
 *
 * @throws Error that says which field is wrong.
 */
export function parseInit(text: string): InitRequest {
  const body: unknown = text.trim() === '' ? {} : JSON.parse(text);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new Error('the body is not an object');
  const fields = body as Record<string, unknown>;
  const string = (name: string): string | undefined => {
    const value = fields[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'string') throw new Error(`${name} is not a string`);
    return value;
  };
  const request: InitRequest = {};
  const accessToken = string('accessToken');
  // An empty token would lock everybody out or nobody: it means none given.
  if (accessToken) request.accessToken = accessToken;
  const defaultUser = string('defaultUser');
  if (defaultUser) request.defaultUser = defaultUser;
  const defaultWorkdir = string('defaultWorkdir');
  if (defaultWorkdir !== undefined) request.defaultWorkdir = defaultWorkdir;
  const hostname = string('hostname');
  if (hostname) request.hostname = checkedHostname(hostname);
  const caBundle = string('caBundle');
  if (caBundle !== undefined) request.caBundle = checkedBundle(caBundle);
  const timestamp = string('timestamp');
  if (timestamp) request.timestampMs = parseTimestamp(timestamp);
  if (fields.quiesced !== undefined && fields.quiesced !== null) {
    if (typeof fields.quiesced !== 'boolean') throw new Error('quiesced is not a boolean');
    request.quiesced = fields.quiesced;
  }
  if (fields.envVars !== undefined && fields.envVars !== null) request.envVars = parseEnvVars(fields.envVars);
  return request;
}

function parseTimestamp(text: string): number {
  const milliseconds = Date.parse(text);
  if (Number.isNaN(milliseconds)) throw new Error('timestamp is not an RFC 3339 time');
  return milliseconds;
}

function checkedBundle(text: string): string {
  const pem = /^-----BEGIN CERTIFICATE-----\r?\n[A-Za-z0-9+/=\r\n]+-----END CERTIFICATE-----\s*$/;
  if (text.trim() === '') return '';
  if (!pem.test(text)) throw new Error('caBundle is not one certificate as PEM');
  return text;
}

function checkedHostname(text: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9.-]{0,63}$/.test(text)) throw new Error('hostname is not a host name');
  return text;
}

function parseEnvVars(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('envVars is not an object');
  for (const [name, text] of Object.entries(value)) {
    if (typeof text !== 'string') throw new Error(`envVars.${name} is not a string`);
  }
  return { ...(value as Record<string, string>) };
}
