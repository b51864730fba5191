const secretHeaders = new Set([
  'x-api-key',
  'authorization',
  'proxy-authorization',
  'x-access-token',
  'svc-traffic-access-token',
  'cookie',
  'set-cookie',
  'svc-signature',
  'webhook-signature',
]);

const secretParameters = new Set(['signature', 'token', 'access_token', 'api_key', 'svc_preview']);

/** Headers as a record, with the values of secret ones replaced by `[redacted]`. */
export function redactHeaders(headers: Headers): Record<string, string> {
  const shown: Record<string, string> = {};
  headers.forEach((value, name) => {
    shown[name] = secretHeaders.has(name.toLowerCase()) ? '[redacted]' : value;
  });
  return shown;
}

/** A URL without its password, signature and tokens. Upload links carry a token as their last segment; it goes too. */
export function redactUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return text.replace(/\?.*/, '?[redacted]');
  }
  if (url.password) url.password = 'redacted';
  for (const name of [...url.searchParams.keys()]) {
    if (secretParameters.has(name.toLowerCase())) url.searchParams.set(name, 'redacted');
  }
  url.pathname = url.pathname.replace(/(\/templates\/uploads\/)[^/]+/, '$1redacted');
  return url.href;
}
