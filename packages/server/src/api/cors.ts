/** Headers of every answer, so that browsers may read it. */
export const corsHeaders: Record<string, string> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'X-Next-Token, X-Total-Running, X-Request-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, Idempotency-Replayed, Deprecation, Link',
};

/** Further headers of the answer to a preflight. */
export const preflightHeaders: Record<string, string> = {
  'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
  'Access-Control-Allow-Headers':
    'Origin, Content-Length, Content-Type, User-Agent, Authorization, X-API-Key, X-Team-ID, X-Request-Id, Idempotency-Key, browser, lang, lang_version, machine, os, package_version, processor, publisher, release, sdk_runtime, system',
  'Access-Control-Max-Age': '86400',
};
